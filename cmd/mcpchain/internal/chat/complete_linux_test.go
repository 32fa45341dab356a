package chat

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
)

const tab, arrowDown, ctrlR, esc = "\t", "\x1b[B", "\x12", "\x1b"

// Tab completes commands, prompts with their arguments, files and resources. A list takes the arrow keys.
func TestCompletion(t *testing.T) {
	t.Parallel()
	cmd := command(t, "-yes")
	cmd.Dir = t.TempDir()
	for name, text := range map[string]string{"plan one.md": "alpha", "plan two.md": "The file says 17 plus 25.\x1b[2J", ".hidden": "x"} {
		put(t, filepath.Join(cmd.Dir, name), text, 0o600)
	}
	m := openScreenOf(t, cmd)
	m.enter("you ›", "/pr"+tab, "› /prompts", arrowDown, "› /prompt ")
	m.golden("completion")
	m.typed("\r"+tab, "you › /prompt evening", tab, "› city=", "\r"+tab, "› Berlin", "L"+arrowDown, "› Lisbon", "\r\r")
	m.await("Lisbon: 26 °C")
	m.enter("Enter continues", ctrlC, "interrupted")

	m.enter("you ›\n", "Look at @pl"+tab, "› \"plan one.md\"", tab+"\r", `you › Look at @"plan two.md"`, "and @menu"+tab)
	m.enter("@demo:demo://menu", "\r", "attached: plan two.md, 29 B")
	m.await("attached: demo:demo://menu, 79 B")
	m.await("The result: 17 + 25 = 42.") // as the file says
	m.await("you ›\n")

	m.typed("@plan"+tab, "Tab next", esc)
	m.until("the list is closed", func(s string) bool { return !strings.Contains(s, "Tab next") })
	m.typed(ctrlC+"/nothing"+tab, "nothing fits", ctrlC+ctrlD)
	m.ended(0)
}

// With several servers, a completed prompt or resource has the server's name. Tools, models, conversations and files
// complete the commands that take them.
func TestCompletionOfCommands(t *testing.T) {
	t.Parallel()
	url, _ := severalModels(t, `{"data":[{"id":"small"},{"id":"large"}]}`)
	file := write(t, "models.json", `{"models":{"far":{"baseUrl":"`+url+`","model":"distant"}}}`)
	cmd := command(t, "-yes", "-config", configure(t, "one=good", "two=good"), "-base-url", url, "-model", "small", "-models", file)
	cmd.Dir = t.TempDir()
	check.Must(t, os.Mkdir(filepath.Join(cmd.Dir, "kept"), 0o700))
	m := openScreenOf(t, cmd)
	m.ask("hello", "I am small.")
	m.await("you ›\n")
	for typed, want := range map[string]string{
		"/prompt eve": "› @one evening  Looks", "/read men": "› @one demo://menu  ", "/tool __we": "› one__weather  one: Tells",
		"/model lar": "you › /model large", "/model fa": "you › /model far", "/resume ": "you › /resume 1", "/save k": "you › /save kept/",
		"look at @ke": "you › look at @kept/",
	} {
		m.typed(typed+tab, want, ctrlC)
		m.until("the line is empty", func(s string) bool { return strings.Contains(s, "you ›\n") })
	}
	m.leave()
}

// Ctrl-R searches the history.
func TestSearch(t *testing.T) {
	t.Parallel()
	m := openScreen(t, "-yes")
	m.ask("What is 1 plus 2?", "1 + 2 = 3", "What is 3 plus 4?", "3 + 4 = 7")
	m.enter("you ›\n", "a draft"+ctrlR+"what is", "you › What is 3 plus 4?\n      search: what is ", ctrlR)
	m.enter("you › What is 1 plus 2?\n      search: what is ", "\r")
	m.until("the search is over", func(s string) bool { return !strings.Contains(s, "search:") })
	m.typed("\x7f!"+ctrlR+"4", "you › What is 3 plus 4?\n      search: 4 ", esc, "you › What is 1 plus 2!\n")
	m.typed("?" + ctrlR + "4" + esc + ctrlC) // Esc and Ctrl-C come at once
	m.await("you ›\n")
	m.leave()
}

// Ctrl-G opens the text in the person's editor. If the editor cannot be started, it is named, and the text stays.
func TestEditor(t *testing.T) {
	t.Parallel()
	script := filepath.Join(t.TempDir(), "editor")
	const text = "#!/bin/sh\nsed -e 's/draft/What is 1 plus 2?/' -e 's/$/\033[2J/' \"$2\" > \"$2.new\" && mv \"$2.new\" \"$2\"\nprintf '\\nand why?\\n' >> \"$2\"\n"
	put(t, script, text, 0o700)
	path := filepath.Join(t.TempDir(), "trace.jsonl")
	cmd := command(t, "-yes", "-trace", path)
	cmd.Env = append(cmd.Env, "VISUAL=", "EDITOR=sh "+script+" -w")
	m := openScreenOf(t, cmd)
	m.enter("you ›", "draft\x07", "and why?", "\r", "The result: 1 + 2 = 3.")
	m.leave()
	for _, r := range readTrace(t, path) {
		got := r["text"]
		check.That(t, r["type"] != "question" || got == "What is 1 plus 2?[2J\nand why?", "got the question %q", got)
	}

	cmd = command(t)
	cmd.Env = append(cmd.Env, "EDITOR=no-such-editor")
	m = openScreenOf(t, cmd)
	m.enter("you ›", "draft\x07", `nothing was written: exec: "no-such-editor": executable file not found`)
	m.enter("you › draft", ctrlC+ctrlD)
	m.ended(0)
}

// The person's editor gets the terminal, and ends with the program.
func TestEditorEndsWithTheProgram(t *testing.T) {
	t.Parallel()
	script, drafts := filepath.Join(t.TempDir(), "editor"), t.TempDir()
	const text = "#!/bin/sh\ntest -t 0 && test -t 1 && test -t 2 && echo 'has the terminal'\nexec sleep 1000\n"
	put(t, script, text, 0o700)
	cmd := command(t)
	cmd.Env = append(cmd.Env, "VISUAL=", "EDITOR=sh "+script, "TMPDIR="+drafts)
	m := openScreenOf(t, cmd)
	m.enter("you ›", "draft\x07", "has the terminal")
	check.Must(t, cmd.Process.Signal(syscall.SIGTERM))
	m.ended(128 + int(syscall.SIGTERM))
	left, err := os.ReadDir(drafts)
	check.That(t, err == nil && len(left) == 0, "left %v, %v", left, err)
}
