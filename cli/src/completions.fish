# Asks metatok for completions. The word that is typed may be quoted, and its last quote may be open.
function __metatok_word
    set -l word (commandline --current-token)
    string unescape -- "$word"; or string unescape -- "$word\""; or string unescape -- "$word'"
end
complete --keep-order --exclusive --command metatok --arguments "(METATOK_COMPLETE=fish metatok -- (commandline --current-process --tokenize --cut-at-cursor) (__metatok_word))"
