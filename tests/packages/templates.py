"""Meta templates and conversations by which parsers are compared."""


def role(name, **keys):
    return {"role": name, **keys}


def marker(section, pos):
    return {"section": section, "pos": pos}


ANSWER = {"generate": True}
METAS = {
    "lm-none": None,
    "lm": {"round": [role("HUMAN", begin="<H>", end="</H>\n"), role("BOT", begin="<B>", end="</B>\n", **ANSWER)]},
    "lm-system": {
        "begin": "[start]",
        "round": [role("HUMAN", begin="H: ", end="\n"), role("BOT", begin="B: ", end="\n", prompt="?", **ANSWER)],
        "reserved_roles": [role("SYSTEM", begin="S: ", end="\n")],
        "end": "[end]",
    },
    "api": {"round": [role("HUMAN", api_role="HUMAN"), role("BOT", api_role="BOT", **ANSWER)]},
    "api-system": {
        "round": [role("HUMAN", api_role="HUMAN", begin="q ", end="."), role("BOT", api_role="BOT", **ANSWER)],
        "reserved_roles": [role("SYSTEM", api_role="SYSTEM")],
    },
}

ROUND = [role("HUMAN", prompt="1+1=?"), role("BOT", prompt="2"), role("HUMAN", prompt="And\n2?"), role("BOT", prompt="4")]
CONVERSATIONS = [
    [marker("round", "begin"), *ROUND, marker("round", "end")],
    [
        marker("begin", "begin"),
        role("SYSTEM", fallback_role="HUMAN", prompt="Be brief."),
        "A line.",
        marker("begin", "end"),
        marker("round", "begin"),
        *ROUND[:2],
        marker("round", "end"),
    ],
    [
        marker("begin", "begin"),
        marker("ice", "begin"),
        *ROUND[:2],
        marker("ice", "end"),
        marker("begin", "end"),
        marker("round", "begin"),
        role("HUMAN", prompt="", begin="own "),
        role("BOT", prompt=""),
        marker("round", "end"),
    ],
    "A text.",
]
