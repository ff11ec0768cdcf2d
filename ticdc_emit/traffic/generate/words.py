"""Words for generated values. The lists are short because they are part of every plan. Their order affects the
output.
"""

from __future__ import annotations

__all__ = [
    "ADJECTIVES",
    "CARRIERS",
    "CITIES",
    "COLORS",
    "COMPANIES",
    "COUNTRIES",
    "COUNTRY_NAMES",
    "CURRENCIES",
    "DOMAINS",
    "FIRST_NAMES",
    "LANGUAGES",
    "LAST_NAMES",
    "LOGINS",
    "NOUNS",
    "STATES",
    "STATUSES",
    "STREETS",
    "VERBS",
]

FIRST_NAMES = (
    "Ada", "Grace", "Linus", "Zoë", "Alan", "Mei", "José", "Fatima", "Barbara", "Edsger", "Katherine", "Dennis",
    "Radia", "Søren", "Yuki", "Priya", "李娜", "Omar", "Ingrid", "Kofi", "Frances", "Tim", "Hedy", "Oleksandr",
)  # fmt: skip
LAST_NAMES = (
    "Lovelace", "Hopper", "Turing", "O'Neil", "García", "Chen", "Liskov", "Dijkstra", "Johnson", "Ritchie", "Perlman",
    "Kierkegaard", "Tanaka", "Sharma", "王", "Haddad", "Bergström", "Mensah", "Allen", "Berners-Lee", "Lamarr",
    "Шевченко",
)  # fmt: skip
LOGINS = (
    "ada", "grace", "linus", "zoe", "alan", "mei", "jose", "fatima", "barbara", "edsger", "katherine", "dennis",
    "radia", "soren", "yuki", "priya", "lina", "omar", "ingrid", "kofi", "frances", "tim", "hedy", "oleksandr",
)  # fmt: skip
CITIES = (
    "Lisbon", "Osaka", "Nairobi", "São Paulo", "Zürich", "Boston", "Chennai", "Kraków", "Cairo", "Auckland", "Montréal",
    "Hamburg", "Bogotá", "Seoul", "Tromsø", "Leeds",
)  # fmt: skip
STREETS = (
    "High Street",
    "Mill Lane",
    "Park Avenue",
    "Station Road",
    "Rue de Rivoli",
    "Hauptstraße",
    "King's Road",
    "Elm St.",
)
STATES = ("CA", "NY", "TX", "WA", "BY", "NSW", "ON", "SP")
COUNTRIES = ("PT", "JP", "KE", "BR", "CH", "US", "IN", "PL", "EG", "NZ", "CA", "DE", "CO", "KR", "NO", "GB")
COUNTRY_NAMES = (
    "Portugal", "Japan", "Kenya", "Brazil", "Switzerland", "United States", "India", "Poland", "Egypt", "New Zealand",
    "Canada", "Germany", "Colombia", "South Korea", "Norway", "United Kingdom",
)  # fmt: skip
CURRENCIES = ("EUR", "USD", "JPY", "GBP", "CHF", "BRL", "INR", "KRW")
LANGUAGES = ("en", "pt", "ja", "de", "fr", "pl", "ko", "sw")
DOMAINS = ("example.com", "example.org", "example.net", "mail.example")
COMPANIES = ("Acme", "Globex", "Initech", "Umbrella", "Hooli", "Stark & Co", "Wayne Ltd", "Tyrell")
CARRIERS = ("DHL", "UPS", "FedEx", "Post", "GLS", "DPD")
COLORS = ("red", "green", "blue", "black", "white", "amber", "teal", "plum")
STATUSES = ("new", "active", "paused", "closed")
ADJECTIVES = (
    "small",
    "quick",
    "silent",
    "bright",
    "heavy",
    "plain",
    "late",
    "curious",
    "steady",
    "rare",
    "warm",
    "open",
)
NOUNS = (
    "lamp",
    "kettle",
    "bicycle",
    "ledger",
    "river",
    "window",
    "parcel",
    "engine",
    "garden",
    "letter",
    "harbour",
    "clock",
)
VERBS = ("arrived", "was checked", "waits", "changed hands", "was returned", "is on its way", "broke", "was repaired")
