# Asks metatok for completions.
_metatok() {
    # Bash splits words at "=" and ":" too. What has no white space between is one word for metatok.
    local line=${COMP_LINE:0:COMP_POINT} words=() word i count=0
    for ((i = 0; i < COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        if [[ $count -eq 0 || $line == [[:space:]]* ]]; then
            ((count++))
        fi
        line=${line#"${line%%[![:space:]]*}"}
        line=${line#"$word"}
        words[count - 1]+=$word
    done
    # $2 is what bash replaces. The rest of the word stays before it, with an opening quote.
    local typed=$2 kept
    if [[ $count -eq 0 || $line == [[:space:]]* ]]; then
        kept=${line#"${line%%[![:space:]]*}"}
        ((count++))
    else
        kept=${words[count - 1]}$line
    fi
    kept=${kept%"$typed"}
    kept=${kept//[\"\']/}
    # Reading removes backslashes.
    IFS= read kept <<<"$kept"
    IFS= read typed <<<"$typed"
    words[count - 1]=$kept$typed

    # The program may be another one than that on the PATH, and an alias names none.
    local program=${1/#"~/"/$HOME/} reply path is_file=
    if [[ $program != */* || ! -x $program ]]; then
        program=metatok
    fi
    COMPREPLY=()
    while IFS= read -r -d $'\013' reply; do
        # Without any, bash goes on with variables and patterns.
        if [[ -z $reply ]]; then
            continue
        fi
        COMPREPLY+=("${reply#"$kept"}")
        # Before the name there may be its option.
        path=${reply#--*=}
        path=${path#-[a-z]}
        path=${path/#"~/"/$HOME/}
        # A folder ends with a slash. A command or a model may have the name of one.
        if [[ -f $path || $path == */ && -d $path ]]; then
            is_file=true
        fi
    done < <(
        METATOK_COMPLETE=bash _CLAP_IFS=$'\013' _CLAP_COMPLETE_INDEX=$((count - 1)) \
            "$program" -- "${words[@]}" 2>/dev/null && printf '\013'
    )
    # Then bash quotes them, and adds no space after a folder.
    if [[ $is_file ]]; then
        compopt -o filenames 2>/dev/null
    elif [[ $typed == *'$'*/* ]]; then
        # Bash knows the folder that a variable names.
        compopt -o default 2>/dev/null
    fi
}
if ((BASH_VERSINFO[0] > 4 || BASH_VERSINFO[0] == 4 && BASH_VERSINFO[1] >= 4)); then
    complete -o bashdefault -o nosort -F _metatok metatok
else
    complete -o bashdefault -F _metatok metatok
fi
