package chat

import (
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/testenv"
	"github.com/mcpchain/mcpchain/internal/testenv/fakehost"
)

func TestPlainTerminal(t *testing.T) {
	t.Parallel()
	m := openPlain(t)
	m.enter("you › ", "What is 17 plus 25?\n")
	m.enter("Allow it? [y]es, [n]o, [w]ords, [e]dit, [a]lways, [s]erver, [f]orbid, [?]: ", "n\n")
	m.await("bot › Error: the call of add was denied. Nothing was done.")

	m.enter("you › ", "Summarize: Go is small. It is fun.\n", `wants to run summarize on the server demo`)
	m.enter("[f]orbid, [?]: ", "y\n", "The server demo wants to put this to the model demo")
	m.enter("[a]lways for this server: ", "y\n", "the model answered demo: Go is small.")
	m.await("bot › Summary: Go is small.")

	m.enter("you › ", "Book a table for 4\n", "[f]orbid, [?]: ", "a\n", "The server demo asks:")
	m.enter("Date (year-month-day): ", "2030-05-01\n", "19:30): ", "20:00\n", "Number of people [4]: ", "3\n")
	m.enter("[Inside]: ", "3\n", "[no]: ", "\n", "[nothing]: ", "\x1b[Aquiet\x1b[D\n", "Note to the kitchen: quiet\r\n")
	m.enter("Send this to demo? [y]es, [e]dit, [n]o, [c]ancel: ", "y\n")
	m.await("bot › Booked: a table for 3 at the bar at Chez Démo on 2030-05-01 at 20:00; note: quiet.")

	m.enter("you › ", "/read demo://menu\n", "Lemon tart")
	m.enter("you › ", "/prompt evening city=Oslo\n", "wants to run weather on the server demo", ctrlC)
	m.await("interrupted; Ctrl-C again leaves")
	m.enter("you › ", "/read\n", "error: usage: /read URI")
	m.leave()
	check.That(t, !strings.Contains(m.whole, "\x1b") && strings.Contains(m.whole, "connecting to demo …\r\n"),
		"a terminal without escape sequences got %q", m.whole)
}

// Lines that are typed while the model works approve nothing.
func TestPlainTypeAhead(t *testing.T) {
	t.Parallel()
	m := openPlain(t)
	m.enter("you › ", "Count to 5\ny\ny\ny\n", "Allow it? [y]es, [n]o, [w]ords, [e]dit, [a]lways, [s]erver, [f]orbid, [?]: ")
	m.enter("", ctrlC, "interrupted")
	check.That(t, !strings.Contains(m.screen, "→ demo count"), "the call was approved by type-ahead: %q", m.screen)
	m.enter("you › ", ctrlC)
	m.ended(130)
}

func TestInterruptsOnAPlainTerminal(t *testing.T) {
	t.Parallel()
	m := openPlain(t, "-yes")
	m.enter("you › ", "Count to 1000\n", "count 3/1000", ctrlC, "interrupted; Ctrl-C again leaves", ctrlC)
	m.ended(130)
	check.That(t, !strings.Contains(m.whole, "\x1b"), "a terminal without escape sequences got %q", m.whole)

	m = openPlain(t)
	m.enter("you › ", "Summarize: Go is small.\n", "[?]: ", "y\n", "[a]lways for this server: ", ctrlC, "interrupted", ctrlC)
	m.ended(130)
	check.That(t, !strings.Contains(m.whole, "cancel"), "got %q, want the words of a person", m.whole)

	m = openPlain(t)
	m.enter("you › ", ctrlC, "press Ctrl-C again, or Ctrl-D, to leave", ctrlC)
	m.ended(130)
}

// Before the conversation, one Ctrl-C ends the program.
func TestInterruptWhileConnecting(t *testing.T) {
	t.Parallel()
	m := openPlain(t, "-config", configure(t, "slow=mute"))
	m.enter("connecting to slow …", ctrlC)
	m.ended(130)
	check.That(t, !strings.Contains(m.screen, "again"), "it is said that Ctrl-C must be repeated: %q", m.screen)
}

// TestServerOfTheGoSDK calls tools of the official Go SDK's example server that ask the model and the person. The server
// asks as in an older revision than it speaks, so the first call is in doubt. After a kill the server is started again.
func TestServerOfTheGoSDK(t *testing.T) {
	t.Parallel()
	program := filepath.Join(t.TempDir(), "everything")
	build := exec.Command("go", "build", "-o", program, "github.com/modelcontextprotocol/go-sdk/examples/server/everything")
	out, err := build.CombinedOutput()
	check.Require(t, err == nil, "build the server: %v\n%s", err, out)
	file := configure(t, `everything=!{"command":"`+program+`"}`)
	form := regexp.MustCompile(`"name":"(elicit[^"]*form[^"]*)"`)
	host := &fakehost.OpenAI{Key: "key-1", Reply: func(r *fakehost.OpenAIRequest) []fakehost.Block {
		body := string(r.Body)
		switch {
		case strings.Contains(body, `"call_3"`):
			return []fakehost.Block{{Type: "text", Text: "It is back."}}
		case strings.Contains(body, "Once more"):
			return []fakehost.Block{{Type: "call", ID: "call_3", Name: "greet", Arguments: `{"name":"again"}`}}
		case strings.Contains(body, `"call_2"`):
			return []fakehost.Block{{Type: "text", Text: "Both have worked."}}
		case strings.Contains(body, "the connection allows it now") && !strings.Contains(body, `"call_1b"`):
			return []fakehost.Block{{Type: "call", ID: "call_1b", Name: "sample", Arguments: `{}`}}
		case strings.Contains(body, `"call_1b"`):
			return []fakehost.Block{{Type: "call", ID: "call_2", Name: form.FindStringSubmatch(body)[1], Arguments: `{}`}}
		case strings.Contains(body, `"sample"`):
			return []fakehost.Block{{Type: "call", ID: "call_1", Name: "sample", Arguments: `{}`}}
		}
		return []fakehost.Block{{Type: "text", Text: "A text for the server."}}
	}}
	server := httptest.NewServer(host)
	t.Cleanup(server.Close)
	cmd := command(t, "-config", file, "-host", "openai", "-model", "gpt-5.6-sol", "-base-url", server.URL+"/v1")
	cmd.Env = append(cmd.Env, "OPENAI_API_KEY=key-1")
	m := openPlainOf(t, cmd)
	m.enter("you ›", "Try sample and elicit (form)\n", "Allow it?", "y\n")
	m.await("an older revision of the protocol: it is connected with 2025-11-25", "may have acted before it asked")
	m.enter("Allow it?", "y\n", "Allow it, with its reply?", "y\n", "← everything sample: A text for the server.")
	m.enter("Allow it?", "y\n", "random", "words\n", "Send this to everything?", "y\n", "words")
	m.await("Both have worked.")
	check.Require(t, testenv.KillChildren(t, program) != 0, "%s does not run", program)
	m.await("everything is back")
	m.enter("you ›", "Once more\n", "Allow it?", "y\n", "← everything greet: Hi again")
	m.await("It is back.")
	m.leave()
	bad := host.Invalid()
	check.That(t, len(bad) == 0, "the host refused %q", bad)
}

// plain runs the program on a terminal that cannot move its cursor.
type plain struct {
	t      *testing.T
	file   *os.File // the person's side of the terminal
	shown  chan string
	screen string // output since the last text that was awaited
	whole  string // all output
	status chan int
}

func openPlain(t *testing.T, args ...string) *plain {
	t.Helper()
	return openPlainOf(t, command(t, args...))
}

func openPlainOf(t *testing.T, cmd *exec.Cmd) *plain {
	t.Helper()
	file, status := onTerminal(t, cmd, "TERM=dumb", 0, 0)
	p := &plain{t: t, file: file, shown: make(chan string, 100), status: status}
	go p.watch()
	return p
}

// onTerminal starts the program on a pseudo-terminal. It returns the person's side, and a channel for the exit status.
func onTerminal(t *testing.T, cmd *exec.Cmd, term string, columns, rows uint16) (person *os.File, status chan int) {
	t.Helper()
	person, tty := pseudoTerminal(t)
	defer tty.Close()
	resize(t, tty, columns, rows)
	cmd.Env = append(append([]string{"NO_COLOR=1"}, cmd.Env...), term)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	check.Must(t, cmd.Start())
	status = make(chan int, 1)
	go func() {
		_ = cmd.Wait() // see ProcessState
		status <- cmd.ProcessState.ExitCode()
	}()
	return person, status
}

// pseudoTerminal opens a pseudo-terminal. It returns the person's side and the program's side.
func pseudoTerminal(t *testing.T) (person, tty *os.File) {
	t.Helper()
	person = check.Value(os.OpenFile("/dev/ptmx", os.O_RDWR, 0))(t)
	t.Cleanup(func() { person.Close() })
	check.Must(t, unix.IoctlSetPointerInt(int(person.Fd()), unix.TIOCSPTLCK, 0))
	number := check.Value(unix.IoctlGetInt(int(person.Fd()), unix.TIOCGPTN))(t)
	tty = check.Value(os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0))(t)
	return person, tty
}

func resize(t *testing.T, tty *os.File, columns, rows uint16) {
	t.Helper()
	check.Must(t, unix.IoctlSetWinsize(int(tty.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: columns, Row: rows}))
}

func (m *plain) watch() {
	defer close(m.shown)
	for {
		b := make([]byte, 4096)
		n, err := m.file.Read(b)
		m.shown <- string(b[:n])
		if err != nil {
			return
		}
	}
}

// await waits for texts, one after the other, and drops the output up to the last one.
func (m *plain) await(texts ...string) {
	m.t.Helper()
	for _, text := range texts {
		m.awaitOne(text)
	}
}

func (m *plain) awaitOne(text string) {
	m.t.Helper()
	deadline := time.After(patience)
	for !strings.Contains(m.screen, text) {
		select {
		case piece, ok := <-m.shown:
			check.Require(m.t, ok, "the terminal closed without %q after %q of\n%s", text, m.screen, m.whole)
			m.screen, m.whole = m.screen+piece, m.whole+piece
		case <-deadline:
			m.t.Fatalf("no %q after %q of\n%s", text, m.screen, m.whole)
		}
	}
	_, m.screen, _ = strings.Cut(m.screen, text)
}

// enter has pairs of texts: the second one is typed when the first one is shown. A last text alone is awaited.
func (m *plain) enter(steps ...string) {
	m.t.Helper()
	for step := range slices.Chunk(steps, 2) {
		m.await(step[0])
		check.Must(m.t, check.Err(io.WriteString(m.file, strings.Join(step[1:], ""))))
	}
}

// ended waits for the end of the program, and checks its exit status.
func (m *plain) ended(want int) {
	m.t.Helper()
	select {
	case got := <-m.status:
		check.Equal(m.t, "status", got, want)
	case <-time.After(patience):
		m.t.Fatalf("the program does not end: %q", m.screen)
	}
}

func (m *plain) leave() {
	m.t.Helper()
	m.enter("you › ", ctrlD)
	m.ended(0)
}

const ctrlC, ctrlD, ctrlU = "\x03", "\x04", "\x15"

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
		"/prompt eve": "› @one evening  Looks", "/prompt @on": "you › /prompt @one evening", "/prompt @one evening ": "› city=  ", "/read men": "› @one demo://menu  ", "/tool __we": "› one__weather  one: Tells",
		"/model lar": "you › /model large", "/model fa": "you › /model far", "/servers restart on": "you › /servers restart one",
		"look at @ke": "you › look at @kept/",
	} {
		m.typed(typed+tab, want, ctrlC)
		m.until("the line is empty", func(s string) bool { return strings.Contains(s, "you ›\n") })
	}
	m.leave()
}
