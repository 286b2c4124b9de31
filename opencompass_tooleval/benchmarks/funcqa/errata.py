"""Errors in FuncQA's published answers and calculations, each checked by hand against its question.

Fixed by ``gold='repaired'``:

* ``arithmetic``: the answer does not follow from its own calculation.
* ``rounded``: the answer follows, but its rounding is more than 0.1% away from the exact number.
* ``question``: the calculation does not fit the question: other numbers, a missing condition or a missing last step.

Listed only:

* ``calculation``: the answer is correct, but the calculation is not.
* ``doubtful``: the question can be read in several ways, or in none.

According to their calculations, these answers would be wrong: 3724 = lcm(38, 49, 17) and 18 = gcd(144, 126, 112) in
one-hop, and 47 = gcd(564, 987, 987) in multi-hop. But the questions say 28, 108 and 611, and the model sees the
questions: these answers are correct, and stay.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

REPAIRED = ('arithmetic', 'rounded', 'question')
KINDS = (*REPAIRED, 'calculation', 'doubtful')


@dataclass(frozen=True)
class Erratum:
    """One error in the data.

    Attributes:
        subset: ``one_hop`` or ``multi_hop``.
        record: Id of the record in the published file.
        digest: :func:`digest` of the question, which identifies the record, since other files use the same ids.
        kind: One of ``KINDS``.
        published: The published answer.
        repaired: The correct answer; the published answer if nothing is fixed.
        why: Description of the error.
    """

    subset: str
    record: str
    digest: str
    kind: str
    published: int | float
    repaired: int | float
    why: str


def digest(question: str) -> str:
    """Returns 16 hex digits that identify a question."""
    return hashlib.blake2b(question.strip().encode('utf-8', 'replace'), digest_size=8).hexdigest()


ERRATA: tuple[Erratum, ...] = (
    Erratum(
        'one_hop',
        '26',
        '45546cc7a499f8a3',
        'doubtful',
        59508,
        59508,
        'one lap is in seconds, the other in minutes; the calculation takes both for the same',
    ),
    Erratum(
        'one_hop',
        '27',
        'e27c323343278493',
        'calculation',
        3724,
        3724,
        'the question says 28, the calculation 17; lcm(38, 49, 28) is 3724, lcm(38, 49, 17) is 31654',
    ),
    Erratum(
        'one_hop',
        '32',
        '9d18d979b2cdc053',
        'calculation',
        18,
        18,
        'the question says 108, the calculation 112; gcd(144, 126, 108) is 18, gcd(144, 126, 112) is 2',
    ),
    Erratum(
        'one_hop',
        '41',
        'df139097d041f270',
        'doubtful',
        980179200,
        980179200,
        '17 people are to come from 8 candidates; the calculation takes 8 of 17',
    ),
    Erratum(
        'one_hop', '44', '11313df6f1444f5f', 'question', 5040, 2520, 'one of the seven letters occurs twice: 7! / 2!'
    ),
    Erratum(
        'one_hop',
        '47',
        'f7ca77bf2780e5d1',
        'doubtful',
        888.7007,
        888.7007,
        'the number is not a positive integer',
    ),
    Erratum(
        'one_hop',
        '51',
        '36a6f84013d87a2e',
        'question',
        -3.4881,
        -3.48945499,
        'the question says 0.000324, the calculation 0.000325',
    ),
    Erratum(
        'one_hop', '56', '405b0925345b957b', 'question', 3, 9, 'the question says 18, the calculation 24: 1899 mod 18'
    ),
    Erratum('multi_hop', '5', '133d12342724ac54', 'arithmetic', 8.7824, 8.7724, 'a digit: the last step gives 8.7724'),
    Erratum(
        'multi_hop',
        '12',
        '62c3c0ac6ef74dbf',
        'question',
        27,
        36.02249297,
        'the initial value is left out: sqrt(1.78 * 3^6)',
    ),
    Erratum(
        'multi_hop', '13', 'b785087c543a4875', 'rounded', 10.5034, 10.5162731, '4.8^(3/2), from a root rounded to 2.19'
    ),
    Erratum(
        'multi_hop',
        '14',
        '3b8d1706220c82ee',
        'doubtful',
        14.88,
        14.88,
        'an arc is taken for a height, which is 20 + 20 cos(72 degrees), and no tool has a cosine',
    ),
    Erratum('multi_hop', '17', 'cc6bcfbb9db03a69', 'question', 3.18, 4, 'the least integer above 3.18 is asked'),
    Erratum('multi_hop', '22', '7c177ee61c73a046', 'calculation', 6, 6, 'a step, 0.1792 / 0.03, is 5.97, not 5.66'),
    Erratum('multi_hop', '23', 'c458f9ceccd91b5e', 'question', 21, 20, '20.39 to the nearest integer'),
    Erratum('multi_hop', '25', '102327e21577768e', 'rounded', 0.48, 0.48163519, 'ln(sqrt(2222)) / 8 to two digits'),
    Erratum(
        'multi_hop',
        '29',
        '7729f3e16674b37f',
        'doubtful',
        4.3054,
        4.3054,
        '"divisible by 546 through 777" is taken for these two numbers',
    ),
    Erratum(
        'multi_hop',
        '30',
        '70b8c9588391fbb4',
        'arithmetic',
        393610,
        39370,
        'a digit too many: lcm(5624, 4921) is 39368, not 393608',
    ),
    Erratum(
        'multi_hop',
        '31',
        '69d8f40cda13174f',
        'question',
        12502,
        595,
        'enough for both is the sum, not the least common multiple: (798 + 987) / 3',
    ),
    Erratum(
        'multi_hop',
        '35',
        'd8358f5728f3e720',
        'doubtful',
        128,
        128,
        '138.24 * 182.32 is 25203.9168, not 25199.7568, so that 128 tiles leave 2% of a tile open',
    ),
    Erratum(
        'multi_hop',
        '40',
        'aba42ec8002e1642',
        'rounded',
        0.0045,
        0.00447196,
        '91 / 20349 to two digits; and the question has no clear meaning',
    ),
    Erratum('multi_hop', '41', 'e81be97427d52534', 'rounded', 0.0222, 0.02222222, '23 / 1035 to three digits'),
    Erratum('multi_hop', '43', 'f5572eccf7436e86', 'rounded', 2.8e-05, 2.7808676e-05, '1 / 35960 to two digits'),
    Erratum('multi_hop', '46', '77962ac8b38e6f27', 'question', 15.04, 15, 'the largest integer below 15.04 is asked'),
    Erratum(
        'multi_hop',
        '49',
        '6c14c7eaddcf17f3',
        'question',
        152409600,
        76204800,
        'three places are for boys, the first and the last two: 7 * 6 * 5 * 9!',
    ),
    Erratum(
        'multi_hop',
        '50',
        '13d0d3f80928598e',
        'arithmetic',
        537214360,
        53721360,
        'a digit too many: 22 * 21 * 20 * 19 * 18 * 17',
    ),
    Erratum(
        'multi_hop',
        '55',
        '1e93f8f144e41ac5',
        'calculation',
        2491079,
        2491079,
        'a step, 2.71828^0.9126, is 2.490789, not 2.491079; the answer is within 0.1%',
    ),
    Erratum(
        'multi_hop',
        '64',
        'f6677d0920154b28',
        'calculation',
        47,
        47,
        'the question says 611, the calculation 987 twice; gcd(564, 987, 611) is 47, gcd(564, 987) is 141',
    ),
    Erratum(
        'multi_hop',
        '66',
        '4201cfdb5568bcd6',
        'rounded',
        6.85,
        6.82083211,
        'a difference of two circumferences that were rounded before',
    ),
    Erratum(
        'multi_hop',
        '67',
        '6b2bd22492777468',
        'question',
        118773.6,
        1187.69061629,
        'millimetres and decimetres are mixed: 121 * 3.14 * 0.538^2 * 10.8 cubic centimetres',
    ),
)
"""The errors, in the order of the files."""

_NOT_ASKED = {erratum.digest for erratum in ERRATA if erratum.kind in ('question', 'doubtful')}
_REPAIRED = {(erratum.subset, erratum.digest): erratum for erratum in ERRATA if erratum.kind in REPAIRED}


def repair(subset: str, question: str, answer: int | float) -> int | float:
    """Returns the correct answer if ``answer`` is known to be wrong; else ``answer``."""
    erratum = _REPAIRED.get((subset, digest(question)))
    return erratum.repaired if erratum and erratum.published == answer else answer


def is_wrong_by_question(question: str) -> bool:
    """Tests if the question is known to ask for another number than the published answer, or has no clear meaning."""
    return digest(question) in _NOT_ASKED
