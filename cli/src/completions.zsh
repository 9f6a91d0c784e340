#compdef metatok
# Asks metatok for completions.
_metatok() {
    local -a answers files folders typed
    local answer name kept
    # The quote of the word may be open.
    typed=("${words[@]}")
    typed[CURRENT]+=$compstate[quote]
    answers=("${(@f)$(METATOK_COMPLETE=zsh _CLAP_IFS=$'\n' _CLAP_COMPLETE_INDEX=$((CURRENT - 1)) \
        metatok -- "${(@Q)typed}" 2>/dev/null)}")
    [[ -n $answers ]] || return 1
    # Zsh would quote the tilde of a folder that it completes, so that folder stays as it is typed.
    if [[ $PREFIX == '~'*/* ]]; then
        kept=${(Q)PREFIX%/*}/
        answers=("${(@)answers#$kept}")
        compset -P '*/'
    fi
    for answer in "${answers[@]}"; do
        name=${answer%%:*}
        if [[ $name == */ ]]; then
            folders+=("${name%/}${answer#$name}")
        else
            files+=("$answer")
        fi
    done
    (( $#folders )) && _describe -V 'values' folders -S '/' -r '/'
    (( $#files )) && _describe -V 'values' files
}
if [[ $funcstack[1] == _metatok ]]; then
    _metatok "$@"
else
    compdef _metatok metatok
fi
