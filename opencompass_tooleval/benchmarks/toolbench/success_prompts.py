"""The judge's prompt (EasyTool, Appendix B.1, List 1), word for word, with the stray quotation mark before "Example 2".

Line breaks are ours: the listing breaks lines by width.
"""

SUCCESS = """Please check whether the response can reasonably and accurately answer the question. If it can, please output 'YES'; If not, please output 'NO'

You need to give reasons first and then decide whether the response can reasonably and accurately answer the question. You must only output in a parsible JSON format. Two example outputs look like:

Example 1: {"Reason": "The reason why you think the response can reasonably and accurately answer the question", "Choice": "Yes"}
"Example 2: {"Reason": "The reason why you think the response cannot reasonably and accurately answer the question", "Choice": "No"}

This is the user's question: {question}
This is the response: {answer}
Output:"""
