"""The words that the facts of a world are made of, in order: a small world takes the first few.

    FEMALE[:2]       →  ["Maria", "Anna"]
    TOWNS["Oslo"]    →  "Norway"
    JOBS["baker"]    →  ("bakery", "bake", "bread"), where a baker works and what a baker does

The towns lie where they lie on the map. Everything else that a world says is made up.
"""

from __future__ import annotations


def _words(text: str) -> list[str]:
    return text.split()


def table(text: str) -> dict[str, tuple[str, ...]]:
    """`key: value value; key: …`, over several lines → `{key: (value, value)}`."""
    rows = (row.split(":") for row in text.strip().replace("\n", ";").split(";") if row.strip())
    return {key.strip(): tuple(values.split()) for key, values in rows}


FEMALE = _words("""
    Maria Anna Clara Emma Helen Ingrid Julia Laura Nora Olga Paula Rosa Sofia Teresa Ursula Vera
    Alice Bertha Carmen Dora Edith Flora Greta Hilda Irene Judith Karin Lucia Marta Nadia""")

MALE = _words("""
    Peter Paul Martin Anton Bruno Carl David Erik Felix Georg Hans Ivan Jakob Klaus Leo Marco
    Niels Oscar Pablo Robert Simon Thomas Victor Walter Albert Boris Conrad Daniel Emil Frank""")

SURNAMES = _words("""
    Keller Brandt Moreau Rossi Lindgren Novak Silva Hansen Murphy Costa Weber Fischer Larsen Dubois
    Garcia Kowalski Virtanen Papas Yilmaz Tanaka Bell Carter Dixon Ellis Fox Grant Harris Irving
    Jordan Knight Lambert Mason Nelson Owens Parker Quinn Reed Shaw Turner Underwood Vogel Walsh
    Young Zimmer Abbott Berger Conti Doyle Eriksen Ferrari Gruber Holm Ito Jansen Koch Lopez Meyer
    Nagy Olsen Petrov""")

TOWNS = {
    town: country
    for country, towns in table("""
        Norway: Oslo Bergen Bodo; England: Leeds York Oxford; France: Lyon Nantes Dijon
        Italy: Turin Pisa Bari; Germany: Bremen Kassel Ulm; Spain: Bilbao Toledo Malaga
        Poland: Lublin Poznan Gdansk; Portugal: Porto Braga Evora; Greece: Patras Volos Athens
        Finland: Turku Oulu Espoo; Denmark: Odense Aarhus Aalborg; Hungary: Szeged Eger Pecs
        Sweden: Lund Uppsala Kalmar; Turkey: Izmir Bursa Konya
        """).items()
    for town in towns
}

LANGUAGES = {
    "Norway": "Norwegian", "England": "English", "France": "French", "Italy": "Italian",
    "Germany": "German", "Spain": "Spanish", "Poland": "Polish", "Portugal": "Portuguese",
    "Greece": "Greek", "Finland": "Finnish", "Denmark": "Danish", "Hungary": "Hungarian",
    "Sweden": "Swedish", "Turkey": "Turkish",
}  # fmt: skip

YEARS = [str(year) for year in range(1941, 1981)]

JOBS = table("""
    baker: bakery bake bread; nurse: hospital treat patients; farmer: barn grow potatoes
    teacher: school mark homework; tailor: workshop sew coats; gardener: park plant roses
    sailor: harbour load ships; judge: court read letters; painter: studio mix paint
    cook: kitchen boil soup; librarian: library lend books; miller: mill grind wheat
    actor: theatre learn poems; plumber: cellar fix pipes; pilot: airport fly planes
    chemist: laboratory test acids; banker: bank count money; brewer: brewery brew beer
    florist: market sell tulips; potter: pottery shape vases; engineer: factory design engines
    jeweller: jewellery polish rings; carpenter: sawmill cut planks; priest: church light candles
    soldier: castle guard towers; miner: mine dig coal; porter: hotel carry luggage
    waiter: restaurant serve coffee; printer: archive print maps; shepherd: meadow shear wool
    """)
"""Each job, where it is done, and what is done: verb and object."""

PEOPLE_NOUNS = table("""
    woman: feminine women; man: masculine men; girl: feminine girls; boy: masculine boys
    queen: feminine queens; king: masculine kings; aunt: feminine aunts; uncle: masculine uncles
    daughter: feminine daughters; son: masculine sons; widow: feminine widows
    monk: masculine monks; duchess: feminine duchesses; duke: masculine dukes
    bride: feminine brides; groom: masculine grooms; grandmother: feminine grandmothers
    grandfather: masculine grandfathers; niece: feminine nieces; nephew: masculine nephews
    """)
"""Nouns that tell the gender, with their plurals."""

ANIMALS = table("""
    dog: bones basket; cat: fish attic; horse: oats stable; goat: thistles shed; parrot: nuts cage
    rabbit: carrots hutch; hen: grain coop; tortoise: lettuce garden; donkey: hay yard
    duck: worms pond
    """)
"""Each animal, what it eats and where it sleeps."""

PET_NAMES = _words("""
    Rex Bella Luna Max Coco Daisy Milo Ruby Oreo Pepper Ginger Toby Misty Smoky Bingo Biscuit
    Lucky Shadow Sunny Tiger Pixie Rusty Snowy Buddy""")

THINGS = table("""
    bicycle: steel garage; table: wood dining-room; clock: brass hall; teapot: silver cupboard
    umbrella: silk wardrobe; carpet: linen parlour; boat: oak boathouse; lamp: glass study
    piano: ebony drawing-room; suitcase: leather loft; kettle: copper pantry
    mirror: crystal bathroom; chair: pine veranda; vase: porcelain window-sill; drum: tin nursery
    ladder: bamboo outhouse; sofa: velvet lounge; kite: paper cabin; bench: stone courtyard
    hat: felt wardrobe
    """)
"""Each thing, what it is made of and where it is kept."""

COLOURS = _words("red green blue yellow white black brown grey")

FOODS = _words("""
    cheese rice plums pancakes olives honey mushrooms lentils cherries noodles cabbage trout
    chocolate spinach dumplings pears""")

INSTRUMENTS = _words("violin flute cello trumpet harp guitar oboe accordion banjo organ lute tuba")

ADJECTIVES = _words("""
    tall young old kind clever quiet proud brave shy lazy polite famous cheerful stubborn rich
    poor""")

STATES = _words("tired hungry happy late ill ready angry bored lost awake")

VERBS = _words("""
    admire visit trust know help thank avoid watch remember invite follow praise blame love
    envy miss""")
"""What people do to one another and to themselves."""

CARE = _words("feed wash find chase call")
"""What people do to their animals."""

HANDLING = _words("clean repair sell lend paint")
"""What people do with their things."""

ADVERBS = _words("often never sometimes always rarely")

PREPOSITIONS = _words("near behind beside opposite")

SITES = _words("bridge river station well tower gate fountain museum statue forest lake hill")

TIMES = _words("morning evening summer winter Sunday Friday")
