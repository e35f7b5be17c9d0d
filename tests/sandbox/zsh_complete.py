# SPDX-License-Identifier: Apache-2.0
"""What zsh offers for a line that ends with Tab, one word a line.

zsh_complete.py SCRIPT-DIR LINE

A zsh of its own on a terminal: each match is written by a compadd that keeps what the real one would have offered.
"""
import os
import pty
import sys
import tempfile

folder, line = sys.argv[1:]

# compadd -O gives the matches that the prefix leaves, without adding them.
SETUP = r"""
unsetopt zle_bracketed_paste 2>/dev/null
PS1= RPS1=
fpath=(%(folder)s $fpath)
autoload -U compinit && compinit -u -D
compadd() {
	if [[ ${@[1,(i)(-|--)]} == *-(O|A|D)\ * ]]; then
		builtin compadd "$@"
		return
	fi
	local -a kept
	builtin compadd -O kept "$@"
	print -rl -- $kept >>%(out)s
	builtin compadd "$@"
}
ended() { print end >>%(out)s; exit }
zle -C offer complete-word _main_complete
offer-and-end() { zle offer; ended }
zle -N offer-and-end
bindkey '^I' offer-and-end
print ready >>%(out)s
"""


def read(path):
    with open(path) as file:
        return file.read()


with tempfile.TemporaryDirectory() as work:
    out = os.path.join(work, "out")
    open(out, "w").close()
    with open(os.path.join(work, ".zshrc"), "w") as file:
        file.write(SETUP % {"folder": folder, "out": out})
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ.update(ZDOTDIR=work, TERM="dumb", HOME=work)
        os.execvp("zsh", ["zsh", "-d", "-i"])
    sent = False
    try:
        while "end\n" not in read(out):
            if not sent and "ready\n" in read(out):
                os.write(terminal, line.encode() + b"\t")
                sent = True
            if not os.read(terminal, 4096):
                break
    except OSError:  # it has ended
        pass
    os.close(terminal)
    os.waitpid(pid, 0)
    words = read(out).split("\n")
    print("\n".join(w for w in words if w not in ("", "ready", "end")))
