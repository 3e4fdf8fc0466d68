"""A sentence as it is typed → its words and marks, as Universal Dependencies divide English.

>>> words_of("They don't like Anna's e-mails (I can't see why).")
['They', 'do', "n't", 'like', 'Anna', "'s", 'e-mails', '(', 'I', 'ca', "n't", 'see', 'why', ')', '.']
>>> words_of("They do n't like e-mails , and I can not see why .")[-5:]
['can', 'not', 'see', 'why', '.']

A line with a mark or `n't` between blanks, and none behind a word, was divided by somebody, and is taken as it is.

Others are cut, from left to right, by the first of these that fits: addresses and smileys; abbreviations; numbers with
what joins their digits; words, without `n't`, `'s` and the like behind them, which come next; marks, a row of the same
one being one. Words with a hyphen are three, but for those that begin with `e-`, `co-`, `re-` and the like.
"""

from __future__ import annotations

import re

ENDS = r"['’`](?:s|m|d|ll|re|ve)\b"
"""What is a word of its own behind another."""
DIVIDED = re.compile(rf"(?:^|\s)(?:[.,;?!()\"]|n['’`]t|{ENDS})(?:\s|$)", re.IGNORECASE)
"""What hardly anybody types with blanks on both sides."""
TYPED = re.compile(r"\w[,?!](?:\s|$)")
"""A mark behind a word: nobody divided this."""
SHORT = (
    "mr|mrs|ms|dr|st|sr|jr|prof|gen|gov|sen|rep|lt|col|sgt|capt|rev|hon|vs|etc|inc|ltd|corp|dept|est|ext|fig|vol|ft|"
    "jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec|mon|tue|wed|thu|fri|sat|sun"
)
"""Words that keep their dot, but for the end of a sentence."""
JOINED = (
    "e|co|re|pre|post|non|anti|un|ex|mid|multi|semi|sub|super|inter|intra|ultra|micro|mini|bi|x|t"
)
"""What keeps its hyphen, and the word behind it."""
LETTER = r"[^\W\d_]"
WORDS = (
    # addresses, names of files, smileys
    r"(?:https?|ftp)://[^\s<>\"]*[\w/]|www\.[^\s<>\"]*[\w/]|[\w.+-]+@[\w-]+(?:\.[\w-]+)*",
    rf"{LETTER}[\w-]*(?-i:\.[a-z]{{2,4}}|\.[A-Z]{{3,4}})(?!['’\w])",
    r"[:;=]['-]?[)(DPp](?!\w)|<3(?!\d)",
    # abbreviations
    rf"(?:{LETTER}\.){{2,}}|\b(?:{SHORT}|(?-i:[A-Z]))\.(?=\s*\w|,)",
    # numbers
    r"\d+(?:[.,:/]\d+)+|\d+-\d+-\d+(?:-\d+)*|\d+(?:st|nd|rd|th|s)\b|\d+",
    # words
    rf"n['’`]t\b|{ENDS}|(?:{JOINED})-{LETTER}+",
    r"can(?=not\b)|gon(?=na\b)|wan(?=na\b)|got(?=ta\b)|(?:do|did|does|is|was|ca|wo)(?=nt\b)",
    rf"{LETTER}+?(?=n['’`]t\b)|(?:{LETTER}|_)(?:\w|&(?={LETTER}))*(?:['’](?!(?:s|m|d|ll|re|ve)\b){LETTER}+)?",
    # marks
    r"[.?!]{2,}|([^\w\s])\1*|\S",
)
PIECES = re.compile("|".join(WORDS), re.IGNORECASE)


def words_of(text: str) -> list[str]:
    """The words and marks of a sentence."""
    if DIVIDED.search(text) and not TYPED.search(text):
        return text.split()
    return [found.group() for found in PIECES.finditer(text)]
