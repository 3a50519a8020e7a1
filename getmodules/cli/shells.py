"""Scripts that complete command lines, for bash, zsh and fish, made from parsers."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from getmodules.cli.options import Completes, Parser

#: The words that a value can have; nothing is known of most.
Words = Completes | tuple[str, ...]
#: What a metavar says about its value.
_METAVARS: dict[str, Words] = {
    "DEST": Completes.DIRECTORIES,
    "DIR": Completes.DIRECTORIES,
    "FILE": Completes.FILES,
    "PATH": Completes.FILES,
    "SOURCE": Completes.FILES,
    "[HOST=]FILE": Completes.FILES,
}


class Option(NamedTuple):
    """An option; ``values`` are the metavars of its values."""

    names: tuple[str, ...]
    help: str
    values: tuple[str, ...]
    words: Words
    repeatable: bool


class Place(NamedTuple):
    """An argument that is no option; ``repeated`` if there may be more of it."""

    name: str
    words: Words
    repeated: bool


class Command(NamedTuple):
    name: str
    line: str
    options: tuple[Option, ...]
    places: tuple[Place, ...]


def command_of(name: str, line: str, parser: Parser) -> Command:
    """Return what there is to complete behind a command."""
    options, places = [], []
    for action in parser._actions:
        if action.help == argparse.SUPPRESS:
            continue
        metavars = _metavars(action)
        words = parser.completions.get(action.dest) or _METAVARS.get(metavars[0] if metavars else "", ())
        if action.option_strings:
            text = action.help or ""
            options.append(Option(tuple(action.option_strings), text, metavars, words, "repeatable" in text))
        else:
            places.append(Place(metavars[0], words, action.nargs in ("*", "+")))
    return Command(name, line, tuple(options), tuple(places))


def _metavars(action: argparse.Action) -> tuple[str, ...]:
    if action.nargs == 0:
        return ()
    if isinstance(action.metavar, tuple):
        return action.metavar
    return (action.metavar or action.dest.upper(),)


def _quoted(text: str) -> str:
    """Return ``text`` in single quotes, for bash and zsh."""
    return "'" + text.replace("'", "'\\''") + "'"


# ------------------------------------------------------------------------------------------------------------ bash

_BASH = """\
# Completes getmodules in bash (3.2 or newer). Made by: getmodules completion bash

_getmodules_modules() {
    local directory=$PWD file='' line i
    local heading='^[[:space:]]*\\[[[:space:]]*modules[[:space:]]*\\.[[:space:]]*["'"'"']?([A-Za-z0-9_][A-Za-z0-9_-]*)'
    for ((i = 1; i < COMP_CWORD; i++)); do
        if [[ ${COMP_WORDS[i]} == --manifest ]]; then
            file=${COMP_WORDS[i + 1]}
            [[ $file != = ]] || file=${COMP_WORDS[i + 2]}
        fi
    done
    while [[ -z $file ]]; do
        [[ ! -f $directory/getmodules.toml ]] || file=$directory
        [[ -n $directory ]] || return 0
        directory=${directory%/*}
    done
    [[ ! -d $file ]] || file=$file/getmodules.toml
    [[ -r $file ]] || return 0
    while IFS= read -r line || [[ -n $line ]]; do
        [[ ! $line =~ $heading ]] || printf '%s\\n' "${BASH_REMATCH[1]}"
    done <"$file"
}

# The number of values of the option "COMMAND --OPTION".
_getmodules_values() {
    case $1 in
@VALUES@
        *) echo 0 ;;
    esac
}

# What completes the value of "COMMAND --OPTION", or the argument "COMMAND NUMBER".
_getmodules_kind() {
    case $1 in
@KINDS@
    esac
}

_getmodules_options() {
    case $1 in
@OPTIONS@
    esac
}

_getmodules() {
    local current=${COMP_WORDS[COMP_CWORD]} command='' key='' place=0 i word values kind line
    COMPREPLY=()
    for ((i = 1; i < COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        if [[ $word == -* ]]; then
            values=$(_getmodules_values "$command $word")
            # --option=value is three words to bash
            [[ ${COMP_WORDS[i + 1]} != = ]] || ((values++))
            ((i + values < COMP_CWORD)) || key="$command $word"
            ((i += values))
        elif [[ -z $command ]]; then
            command=$word
        else
            ((place++))
        fi
    done
    [[ $current != = ]] || current=''
    if [[ -z $key && $current == -* ]]; then
        kind="words $(_getmodules_options "$command")"
    elif [[ -z $key && -z $command ]]; then
        kind='words @COMMANDS@'
    else
        kind=$(_getmodules_kind "${key:-$command $place}")
    fi
    case $kind in
        words*) kind=$(compgen -W "${kind#words}" -- "$current") ;;
        modules) kind=$(compgen -W "$(_getmodules_modules)" -- "$current") ;;
        files) kind=$(compgen -f -- "$current"); compopt -o filenames 2>/dev/null ;;
        directories) kind=$(compgen -d -- "$current"); compopt -o filenames 2>/dev/null ;;
        *) return 0 ;;
    esac
    while IFS= read -r line; do
        [[ -z $line ]] || COMPREPLY+=("$line")
    done <<<"$kind"
}

complete -F _getmodules getmodules"""


def bash(top: Command, commands: Sequence[Command]) -> str:
    """Return the script for bash."""
    every = [top, *commands]
    return _filled(
        _BASH,
        VALUES=_lines(_bash_values(every)),
        KINDS=_lines(_bash_kinds(every)),
        OPTIONS=_lines(_bash_options(every)),
        COMMANDS=" ".join(command.name for command in commands),
    )


def _bash_values(commands: Sequence[Command]) -> Iterator[str]:
    for command in commands:
        for option in command.options:
            if option.values:
                yield f"{_bash_keys(command, option)}) echo {len(option.values)} ;;"


def _bash_kinds(commands: Sequence[Command]) -> Iterator[str]:
    names = tuple(command.name for command in commands if command.name)
    for command in commands:
        for option in command.options:
            if option.words:
                yield f"{_bash_keys(command, option)}) echo {_quoted(_bash_kind(option.words, names))} ;;"
        for number, place in enumerate(command.places):
            if place.words:
                key = f"'{command.name} '[0-9]*" if place.repeated else f"'{command.name} {number}'"
                yield f"{key}) echo {_quoted(_bash_kind(place.words, names))} ;;"


def _bash_keys(command: Command, option: Option) -> str:
    return " | ".join(f"'{command.name} {name}'" for name in option.names)


def _bash_kind(words: Words, commands: tuple[str, ...]) -> str:
    if words is Completes.COMMANDS:
        return f"words {' '.join(commands)}"
    return words.value if isinstance(words, Completes) else f"words {' '.join(words)}"


def _bash_options(commands: Sequence[Command]) -> Iterator[str]:
    for command in commands:
        names = " ".join(name for option in command.options for name in option.names)
        yield f"{_quoted(command.name)}) echo {_quoted(names)} ;;"


# ------------------------------------------------------------------------------------------------------------- zsh

_ZSH = """\
#compdef getmodules
# Completes getmodules in zsh. Made by: getmodules completion zsh

_getmodules_modules() {
    local directory=$PWD file=${(Q)opt_args[--manifest]} line
    local heading='^[[:space:]]*\\[[[:space:]]*modules[[:space:]]*\\.[[:space:]]*["'\\'']?([A-Za-z0-9_][A-Za-z0-9_-]*)'
    local -a names
    local MATCH MBEGIN MEND match mbegin mend
    while [[ -z $file ]]; do
        [[ ! -f $directory/getmodules.toml ]] || file=$directory
        [[ -n $directory ]] || return 1
        directory=${directory%/*}
    done
    [[ ! -d $file ]] || file=$file/getmodules.toml
    [[ -r $file ]] || return 1
    while IFS= read -r line || [[ -n $line ]]; do
        [[ ! $line =~ $heading ]] || names+=("$match[1]")
    done <"$file"
    _wanted modules expl module compadd -a names
}

_getmodules_commands() {
    local -a commands
    commands=(
@COMMANDS@
    )
    _describe -t commands command commands
}

_getmodules() {
    local curcontext=$curcontext state line expl
    local -A opt_args
    _arguments -C \\
@TOP@
        '1:command:_getmodules_commands' \\
        '*::argument:->arguments' && return
    [[ $state == arguments ]] || return
    case $words[1] in
@CASES@
    esac
}

if [[ $funcstack[1] == _getmodules ]]; then
    _getmodules "$@"
else
    compdef _getmodules getmodules
fi"""


def zsh(top: Command, commands: Sequence[Command]) -> str:
    """Return the script for zsh."""
    return _filled(
        _ZSH,
        COMMANDS=_lines(_quoted(f"{command.name}:{command.line.replace(':', chr(92) + ':')}") for command in commands),
        TOP=_lines(f"{_zsh_option(option)} \\" for option in top.options),
        CASES=_lines(_zsh_case(command) for command in commands),
    )


def _zsh_case(command: Command) -> str:
    specs = [_zsh_option(option) for option in command.options]
    for number, place in enumerate(command.places, 1):
        where = "*" if place.repeated else number
        specs.append(_quoted(f"{where}:{_zsh_text(place.name)}:{_zsh_action(place.words)}"))
    lines = " \\\n                ".join(specs)
    return f"{command.name})\n            _arguments -S \\\n                {lines}\n            ;;"


def _zsh_option(option: Option) -> str:
    values = "".join(f":{_zsh_text(value)}:{_zsh_action(option.words)}" for value in option.values)
    repeat = "*" if option.repeatable else ""
    # One spelling keeps the other from being offered.
    others = f"({' '.join(option.names)})" if len(option.names) > 1 and not repeat else ""
    each = [f"{others}{repeat}{name}" for name in option.names]
    equals = "=" if len(option.values) == 1 else ""
    return " ".join(
        _quoted(f"{name}{equals if name.rpartition(')')[2].lstrip('*').startswith('--') else ''}"
                f"[{_zsh_text(option.help)}]{values}")
        for name in each
    )  # fmt: skip


def _zsh_action(words: Words) -> str:
    match words:
        case Completes.COMMANDS | Completes.MODULES:
            return f"_getmodules_{words.value}"
        case Completes.FILES:
            return "_files"
        case Completes.DIRECTORIES:
            return "_files -/"
    return f"({' '.join(words)})" if words else " "


def _zsh_text(text: str) -> str:
    return re.sub(r"([\[\]:\\])", r"\\\1", text)


# ------------------------------------------------------------------------------------------------------------ fish

_FISH = """\
# Completes getmodules in fish. Made by: getmodules completion fish

# Prints the command that was typed; fails if there is none yet.
function __getmodules_command
    set -l typed (commandline -opc)
    for word in $typed[2..-1]
        if not string match -q -- '-*' $word
            echo $word
            return 0
        end
    end
    return 1
end

function __getmodules_is
    set -l command (__getmodules_command)
    test "$command" = "$argv[1]"
end

function __getmodules_modules
    set -l typed (commandline -opc)
    set -l file (string replace -rf -- '^--manifest=(.+)$' '$1' $typed)[-1]
    if set -l at (contains -i -- --manifest $typed)
        set file $typed[(math $at + 1)]
    end
    set -l directory $PWD
    while test -z "$file"
        if test -f "$directory/getmodules.toml"
            set file "$directory"
        else if test -z "$directory"
            return
        end
        set directory (string replace -r '/[^/]*$' '' -- $directory)
    end
    test -d "$file"; and set file "$file/getmodules.toml"
    test -r "$file"; or return
    string replace -rf '^\\s*\\[\\s*modules\\s*\\.\\s*["\\']?([A-Za-z0-9_][A-Za-z0-9_-]*).*$' '$1' <"$file"
end

complete -c getmodules -e
complete -c getmodules -f
@LINES@"""


def fish(top: Command, commands: Sequence[Command]) -> str:
    """Return the script for fish."""
    lines = [f"complete -c getmodules -n 'not __getmodules_command' {_fish_option(option)}" for option in top.options]
    for command in commands:
        lines.append(
            f"complete -c getmodules -n 'not __getmodules_command' -a {command.name} -d {_fish_quoted(command.line)}"
        )
    names = tuple(command.name for command in commands)
    for command in commands:
        condition = f"complete -c getmodules -n '__getmodules_is {command.name}'"
        lines += [f"{condition} {_fish_option(option)}" for option in command.options]
        kinds = dict.fromkeys(place.words for place in command.places if place.words)
        lines += [f"{condition} {_fish_words(words, names)}" for words in kinds]
    return _filled(_FISH, LINES="\n".join(lines))


def _fish_option(option: Option) -> str:
    names = " ".join(f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in option.names)
    values = f" {_fish_words(option.words, ()) if option.words else '-x'}" if option.values else ""
    required = " -r" if option.words in (Completes.FILES, Completes.DIRECTORIES) else ""
    exclusive = " -x" if isinstance(option.words, tuple) and option.words else ""
    return f"{names}{required}{exclusive}{values} -d {_fish_quoted(option.help)}"


def _fish_words(words: Words, commands: tuple[str, ...]) -> str:
    match words:
        case Completes.COMMANDS:
            return f"-a {_fish_quoted(' '.join(commands))}"
        case Completes.MODULES:
            return "-a '(__getmodules_modules)'"
        case Completes.FILES:
            return "-F"
        case Completes.DIRECTORIES:
            return "-a '(__fish_complete_directories)'"
    return f"-a {_fish_quoted(' '.join(words))}"


def _fish_quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


# ----------------------------------------------------------------------------------------------------------- parts


def _lines(lines: Iterator[str]) -> str:
    return "\n".join(f"        {line}" for line in lines)


def _filled(template: str, **parts: str) -> str:
    """Return the template with each ``@NAME@`` replaced."""
    for name, part in parts.items():
        template = template.replace(f"@{name}@", part)
    return template
