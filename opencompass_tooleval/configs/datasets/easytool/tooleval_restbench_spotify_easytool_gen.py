from mmengine.config import read_base

with read_base():
    from .tooleval_restbench_easytool_rows import tooleval_restbench_easytool_rows

tooleval_restbench_spotify_easytool_datasets = [
    row for row in tooleval_restbench_easytool_rows if row['name'] == 'spotify'
]
