package chat

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
)

const tab, arrowDown, esc = "\t", "\x1b[B", "\x1b"

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

// With several servers, a completed prompt or resource has the server's name. Tools, models, servers and files
// complete what takes them.
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
		"/model lar": "you › /model large", "/model fa": "you › /model far", "/servers restart on": "you › /servers restart one",
		"look at @ke": "you › look at @kept/",
	} {
		m.typed(typed+tab, want, ctrlC)
		m.until("the line is empty", func(s string) bool { return strings.Contains(s, "you ›\n") })
	}
	m.leave()
}
