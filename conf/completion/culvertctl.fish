# SPDX-License-Identifier: BSD-3-Clause
# Completes the words of culvertctl in fish, by "culvertctl complete".
function __culvertctl_complete
    set -l words (commandline -opc) (commandline -ct)
    set -l lines (culvertctl complete -- $words[2..-1] 2>/dev/null)
    if test "$lines[1]" = :file
        __fish_complete_path (commandline -ct)
    else
        string join \n -- $lines
    end
end

complete -c culvertctl -f -a '(__culvertctl_complete)'
