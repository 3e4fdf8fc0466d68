"""The words that the facts of a world are made of, in order: a small world takes the first few.

    FEMALE[:2]       →  ["Maria", "Anna"]
    TOWNS["Oslo"]    →  "Norway"
    JOBS["baker"]    →  ("bakery", "bake", "bread"), where a baker works and what a baker does

The towns lie where they lie on the map. Everything else that a world says is made up.

German for the words of the world: how they are inflected, and by which case they are followed.

    GERMAN_NOUNS["baker"]   →  Noun("m", "Bäcker", "Bäcker"), der Bäcker, die Bäcker
    GERMAN_VERBS["invite"]  →  Verb("lädt", "laden", "eingeladen", "ein"), sie lädt ihn ein
    GERMAN_VERBS["help"]    →  Verb("hilft", "helfen", "geholfen", case="dat"), sie hilft ihm

Where English has one word and German several that differ by a shade, each English word has one of its own,
so that a text can be translated in both directions.
"""

from __future__ import annotations

from dataclasses import dataclass


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


@dataclass(frozen=True)
class Noun:
    gender: str
    """m, f, n; p for what has a plural only."""
    one: str
    many: str = ""
    oblique: str = ""
    """The accusative and dative of weak nouns: den Bauern."""
    preposition: str = "in"
    """What a place is in: auf der Wiese."""

    def form(self, case: str, plural: bool) -> str:
        """`Noun("m", "Hund", "Hunde").form("dat", True)` → `"Hunden"`."""
        if not plural:
            return self.oblique if self.oblique and case != "nom" else self.one
        return self.many + ("n" if case == "dat" and self.many[-1] not in "ns" else "")


@dataclass(frozen=True)
class Verb:
    one: str
    """With one subject: lädt."""
    many: str
    """With several: laden."""
    participle: str = ""
    prefix: str = ""
    """What stands at the end of a main clause: ein; im Gedächtnis."""
    case: str = "acc"
    """Of the object."""

    def form(self, how: str, plural: bool) -> str:
        finite = self.many if plural else self.one
        if how == "prefix":
            return self.prefix
        if how == "participle":
            return self.participle
        if how == "final" and self.prefix:
            return self.prefix + (" " if " " in self.prefix else "") + finite
        return finite


def _nouns(text: str) -> dict[str, Noun]:
    """`english: gender singular plural`, with `=oblique` and `@preposition` where they differ."""
    found = {}
    for english, words in table(text).items():
        plain = [word for word in words if word[0] not in "=@"]
        marks = {word[0]: word[1:] for word in words if word[0] in "=@"}
        gender, one, many = [*plain, ""][:3]
        found[english] = Noun(gender, one, many, marks.get("=", ""), marks.get("@", "in"))
    return found


def _verbs(text: str) -> dict[str, Verb]:
    """`english: one many participle`, with `+prefix` (`_` for a blank) and `@case`."""
    found = {}
    for english, words in table(text).items():
        words = tuple(word.replace("_", " ") for word in words)
        marks = {word[0]: word[1:] for word in words if word[0] in "+@"}
        one, many, participle = [*(word for word in words if word[0] not in "+@"), ""][:3]
        found[english] = Verb(one, many, participle, marks.get("+", ""), marks.get("@", "acc"))
    return found


def _pairs(text: str) -> dict[str, str]:
    return {pair.split("=")[0]: pair.split("=")[1].replace("_", " ") for pair in text.split()}


GERMAN_NOUNS = _nouns("""
    baker: m Bäcker Bäcker; nurse: m Pfleger Pfleger; farmer: m Bauer Bauern =Bauern
    teacher: m Lehrer Lehrer; tailor: m Schneider Schneider; gardener: m Gärtner Gärtner
    sailor: m Matrose Matrosen =Matrosen; judge: m Richter Richter; painter: m Maler Maler
    cook: m Koch Köche; librarian: m Bibliothekar Bibliothekare; miller: m Müller Müller
    actor: m Schauspieler Schauspieler; plumber: m Klempner Klempner
    pilot: m Pilot Piloten =Piloten; chemist: m Chemiker Chemiker; banker: m Bankier Bankiers
    brewer: m Brauer Brauer; florist: m Florist Floristen =Floristen; potter: m Töpfer Töpfer
    engineer: m Ingenieur Ingenieure; jeweller: m Juwelier Juweliere
    carpenter: m Tischler Tischler; priest: m Priester Priester
    soldier: m Soldat Soldaten =Soldaten; miner: m Bergmann Bergleute
    porter: m Gepäckträger Gepäckträger; waiter: m Kellner Kellner; printer: m Drucker Drucker
    shepherd: m Schäfer Schäfer; woman: f Frau Frauen; man: m Mann Männer; girl: n Mädchen Mädchen
    boy: m Junge Jungen =Jungen; queen: f Königin Königinnen; king: m König Könige
    aunt: f Tante Tanten; uncle: m Onkel Onkel; daughter: f Tochter Töchter; son: m Sohn Söhne
    widow: f Witwe Witwen; monk: m Mönch Mönche; duchess: f Herzogin Herzoginnen
    duke: m Herzog Herzöge; bride: f Braut Bräute; groom: m Bräutigam Bräutigame
    grandmother: f Großmutter Großmütter; grandfather: m Großvater Großväter
    niece: f Nichte Nichten; nephew: m Neffe Neffen =Neffen; dog: m Hund Hunde; cat: f Katze Katzen
    horse: n Pferd Pferde; goat: f Ziege Ziegen; parrot: m Papagei Papageien
    rabbit: n Kaninchen Kaninchen; hen: f Henne Hennen; tortoise: f Schildkröte Schildkröten
    donkey: m Esel Esel; duck: f Ente Enten; bicycle: n Fahrrad; table: m Tisch; clock: f Uhr
    teapot: f Teekanne; umbrella: m Regenschirm; carpet: m Teppich; boat: n Boot; lamp: f Lampe
    piano: n Klavier; suitcase: m Koffer; kettle: m Kessel; mirror: m Spiegel; chair: m Stuhl
    vase: f Vase; drum: f Trommel; ladder: f Leiter; sofa: n Sofa; kite: m Drachen; bench: f Bank
    hat: m Hut; bakery: f Bäckerei; hospital: n Krankenhaus; barn: f Scheune; school: f Schule
    workshop: f Werkstatt; park: m Park; harbour: m Hafen; court: n Gericht @an; studio: n Atelier
    kitchen: f Küche; library: f Bibliothek; mill: f Mühle; theatre: n Theater; cellar: m Keller
    airport: m Flughafen @auf; laboratory: n Labor; bank: f Sparkasse; brewery: f Brauerei
    market: m Markt @auf; pottery: f Töpferei; factory: f Fabrik; jewellery: n Juweliergeschäft
    sawmill: n Sägewerk; church: f Kirche; castle: f Burg @auf; mine: n Bergwerk; hotel: n Hotel
    restaurant: n Restaurant; archive: n Archiv; meadow: f Wiese @auf; basket: m Korb
    attic: m Speicher; stable: m Stall; shed: m Schuppen; cage: m Käfig; hutch: m Verschlag
    coop: n Hühnerhaus; garden: m Garten; yard: m Hof @auf; pond: m Teich; garage: f Garage
    dining-room: n Esszimmer; hall: m Flur; cupboard: m Schrank; wardrobe: m Kleiderschrank
    parlour: n Wohnzimmer; boathouse: n Bootshaus; study: n Arbeitszimmer; drawing-room: m Salon
    loft: m Dachboden @auf; pantry: f Speisekammer; bathroom: n Badezimmer; veranda: f Veranda @auf
    window-sill: n Fensterbrett @auf; nursery: n Kinderzimmer; outhouse: n Nebengebäude
    lounge: f Lounge; cabin: f Hütte; courtyard: m Innenhof; bread: n Brot; patients: p Patienten
    potatoes: p Kartoffeln; homework: p Hausaufgaben; coats: p Mäntel; roses: p Rosen
    ships: p Schiffe; letters: p Briefe; paint: f Farbe; soup: f Suppe; books: p Bücher
    wheat: m Weizen; poems: p Gedichte; pipes: p Rohre; planes: p Flugzeuge; acids: p Säuren
    money: n Geld; beer: n Bier; tulips: p Tulpen; vases: p Vasen; engines: p Motoren
    rings: p Ringe; planks: p Bretter; candles: p Kerzen; towers: p Türme; coal: f Kohle
    luggage: n Gepäck; coffee: m Kaffee; maps: p Landkarten; wool: f Wolle; bridge: f Brücke
    river: m Fluss; station: m Bahnhof; well: m Brunnen; tower: m Turm; gate: n Tor
    fountain: m Springbrunnen; museum: n Museum; statue: f Statue; forest: m Wald; lake: m See
    hill: m Hügel
    """)
"""Whatever an article, a possessive or an adjective agrees with."""

WOMEN = _pairs("""
    farmer=Bäuerin sailor=Matrosin cook=Köchin miner=Bergfrau
    """)
"""Women with these jobs; of others the word ends in -in."""

GERMAN_VERBS = _verbs("""
    admire: bewundert bewundern bewundert; visit: besucht besuchen besucht
    trust: vertraut vertrauen vertraut @dat; know: kennt kennen gekannt
    help: hilft helfen geholfen @dat; thank: dankt danken gedankt @dat
    avoid: meidet meiden gemieden; watch: beobachtet beobachten beobachtet
    remember: behält behalten im_Gedächtnis_behalten +im_Gedächtnis
    invite: lädt laden eingeladen +ein; follow: folgt folgen gefolgt @dat
    praise: lobt loben gelobt; blame: beschuldigt beschuldigen beschuldigt
    love: liebt lieben geliebt; envy: beneidet beneiden beneidet; miss: vermisst vermissen vermisst
    feed: füttert füttern; wash: wäscht waschen; find: findet finden; chase: jagt jagen
    call: ruft rufen; clean: putzt putzen; repair: repariert reparieren; sell: verkauft verkaufen
    lend: verleiht verleihen; paint: streicht streichen +an; bake: backt backen
    treat: behandelt behandeln; grow: baut bauen +an; mark: korrigiert korrigieren; sew: näht nähen
    plant: pflanzt pflanzen; load: belädt beladen; read: liest lesen; mix: mischt mischen
    boil: kocht kochen; grind: mahlt mahlen; learn: lernt lernen; fix: flickt flicken
    fly: fliegt fliegen; test: prüft prüfen; count: zählt zählen; brew: braut brauen
    shape: formt formen; design: entwirft entwerfen; polish: poliert polieren
    cut: schneidet schneiden; light: zündet zünden +an; guard: bewacht bewachen
    dig: baut bauen +ab; carry: trägt tragen; serve: serviert servieren; print: druckt drucken
    shear: schert scheren
    """)

GERMAN_ADJECTIVES = _pairs("""
    tall=groß young=jung old=alt kind=freundlich clever=klug quiet=still proud=stolz brave=tapfer
    shy=schüchtern lazy=faul polite=höflich famous=berühmt cheerful=fröhlich stubborn=stur
    rich=reich poor=arm
    red=rot green=grün blue=blau yellow=gelb white=weiß black=schwarz brown=braun grey=grau
    """)

WORDS = _pairs("""
    tired=müde hungry=hungrig happy=glücklich late=verspätet ill=krank ready=bereit angry=wütend
    bored=gelangweilt lost=verirrt awake=wach
    often=oft never=nie sometimes=manchmal always=immer rarely=selten
    near=nahe behind=hinter beside=neben opposite=gegenüber
    morning=Morgen evening=Abend summer=Sommer winter=Winter Sunday=Sonntag Friday=Freitag
    cheese=Käse rice=Reis plums=Pflaumen pancakes=Pfannkuchen olives=Oliven honey=Honig
    mushrooms=Pilze lentils=Linsen cherries=Kirschen noodles=Nudeln cabbage=Kohl trout=Forelle
    chocolate=Schokolade spinach=Spinat dumplings=Knödel pears=Birnen
    violin=Geige flute=Flöte cello=Cello trumpet=Trompete harp=Harfe guitar=Gitarre oboe=Oboe
    accordion=Akkordeon banjo=Banjo organ=Orgel lute=Laute tuba=Tuba
    bones=Knochen fish=Fisch oats=Hafer thistles=Disteln nuts=Nüsse carrots=Karotten
    grain=Körner lettuce=Salat hay=Heu worms=Würmer
    steel=Stahl wood=Holz brass=Messing silver=Silber silk=Seide linen=Leinen oak=Eichenholz
    glass=Glas ebony=Ebenholz leather=Leder copper=Kupfer crystal=Kristall pine=Kiefernholz
    porcelain=Porzellan tin=Blech bamboo=Bambus velvet=Samt paper=Papier stone=Stein felt=Filz
    Norwegian=Norwegisch English=Englisch French=Französisch Italian=Italienisch German=Deutsch
    Spanish=Spanisch Polish=Polnisch Portuguese=Portugiesisch Greek=Griechisch Finnish=Finnisch
    Danish=Dänisch Hungarian=Ungarisch Swedish=Schwedisch Turkish=Türkisch
    Norway=Norwegen France=Frankreich Italy=Italien Germany=Deutschland Spain=Spanien
    Poland=Polen Greece=Griechenland Finland=Finnland Denmark=Dänemark Hungary=Ungarn
    Sweden=Schweden Turkey=der_Türkei
    Turin=Turin Gdansk=Danzig Poznan=Posen Athens=Athen
    """)
"""What has one form. Names and numbers that are not here are the same in both languages."""
