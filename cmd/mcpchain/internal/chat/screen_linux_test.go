package chat

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hinshun/vt10x"

	"github.com/mcpchain/mcpchain/internal/tryout"
)

var update = flag.Bool("update", false, "write the screens of testdata/screens")

// emulator is the program on a terminal with a screen.
type emulator struct {
	t      *testing.T
	file   *os.File // the person's side
	vt     vt10x.Terminal
	shown  chan []byte
	raw    []byte // an unfinished sequence
	whole  []byte // all output
	status chan int
	cmd    *exec.Cmd
}

// openScreen starts the program on a terminal of 80 columns. The rows are many, since an
// emulator keeps no scrollback.
func openScreen(t *testing.T, args ...string) *emulator {
	t.Helper()
	return openScreenOf(t, command(t, args...))
}

func openScreenOf(t *testing.T, cmd *exec.Cmd) *emulator {
	t.Helper()
	return openScreenWide(t, 80, cmd)
}

func openScreenWide(t *testing.T, columns int, cmd *exec.Cmd) *emulator {
	t.Helper()
	return openScreenSized(t, columns, 60, cmd)
}

func openScreenSized(t *testing.T, columns, rows int, cmd *exec.Cmd) *emulator {
	t.Helper()
	file, status := onTerminal(t, cmd, "TERM=xterm-256color", uint16(columns), uint16(rows))
	m := watchScreen(t, file, columns, rows)
	m.status, m.cmd = status, cmd
	return m
}

// watchScreen draws what comes to the person's side of a terminal.
func watchScreen(t *testing.T, file *os.File, columns, rows int) *emulator {
	m := &emulator{t: t, file: file, vt: vt10x.New(vt10x.WithSize(columns, rows)), shown: make(chan []byte, 100)}
	go func() {
		defer close(m.shown)
		for {
			b := make([]byte, 4096)
			n, err := file.Read(b)
			m.shown <- b[:n]
			if err != nil {
				return
			}
		}
	}()
	return m
}

// unknown are sequences that the emulator takes for others.
var unknown = regexp.MustCompile("\x1b\\[[<>=][0-9;]*[a-zA-Z]|\x1b\\[\\?[0-9;]*(\\$p|u|n)|\x1b\\][^\x07\x1b]*(\x07|\x1b\\\\)|\x1b[P_][^\x1b]*\x1b\\\\|\x1b\\[[0-9;]* q")

// take passes output on to the emulator, as whole sequences.
func (m *emulator) take(b []byte) {
	m.whole = append(m.whole, b...)
	text := append(m.raw, b...)
	end := len(text)
	if i := strings.LastIndexByte(string(text), 0x1b); i >= 0 && !regexp.MustCompile("^\x1b(\\[[^a-zA-Z@`~]*[a-zA-Z@`~]|\\][^\x07]*\x07|[^\\[\\]P_])").Match(text[i:]) {
		end = i
	}
	if i := bytes.LastIndex(text, []byte("\x1bP")); i >= 0 && !bytes.Contains(text[i:], []byte("\x1b\\")) {
		end = min(end, i)
	}
	if i := bytes.LastIndex(text, []byte("\x1b_")); i >= 0 && !bytes.Contains(text[i:], []byte("\x1b\\")) {
		end = min(end, i)
	}
	m.raw = append([]byte(nil), text[end:]...)
	if _, err := m.vt.Write(unknown.ReplaceAll(text[:end], nil)); err != nil {
		m.t.Fatal(err)
	}
}

var port = regexp.MustCompile(`127\.0\.0\.1:\d+`)

// saved is the name of a kept file, which has the time.
var saved = regexp.MustCompile(`\d{8}-\d{6}-[0-9a-f]{6}`)

// date is when a conversation was.
var date = regexp.MustCompile(`\b20\d\d-\d\d-\d\d \d\d:\d\d\b`)

var clock = regexp.MustCompile(`\b(?:\d+ s|\d:\d\d)\b`)

// screen is what a person sees, without blank rows at the end, and with the time of
// clocks left out.
func (m *emulator) screen() string {
	m.vt.Lock()
	defer m.vt.Unlock()
	columns, rows := m.vt.Size()
	var b strings.Builder
	for y := range rows {
		var line strings.Builder
		for x := range columns {
			line.WriteRune(m.vt.Cell(x, y).Char)
		}
		b.WriteString(strings.TrimRight(strings.ReplaceAll(line.String(), "\x00", " "), " ") + "\n")
	}
	return saved.ReplaceAllString(date.ReplaceAllString(port.ReplaceAllString(clock.ReplaceAllString(strings.TrimRight(b.String(), "\n")+"\n", "N s"), "127.0.0.1:N"), "DATE"), "TIME")
}

// await returns when the screen has the text.
func (m *emulator) await(text string) {
	m.t.Helper()
	m.until("the screen has "+text, func(screen string) bool { return strings.Contains(screen, text) })
}

func (m *emulator) until(what string, ok func(screen string) bool) {
	m.t.Helper()
	deadline := time.After(patience)
	for !ok(m.screen()) {
		select {
		case piece, open := <-m.shown:
			if !open {
				m.t.Fatalf("the terminal closed before %s:\n%s", what, m.screen())
			}
			m.take(piece)
		case <-deadline:
			m.t.Fatalf("waited for: %s:\n%s", what, m.screen())
		}
	}
}

// enter types when the screen has the text.
func (m *emulator) enter(when, typed string) {
	m.t.Helper()
	m.await(when)
	m.typed(typed)
}

func (m *emulator) typed(keys string) {
	m.t.Helper()
	if _, err := io.WriteString(m.file, keys); err != nil {
		m.t.Fatal(err)
	}
}

// golden waits until the screen is that of a file.
func (m *emulator) golden(name string) {
	m.t.Helper()
	m.goldenOf(name, m.screen)
}

// goldenEnd is golden for the last rows. What is above them depends on the frames that were
// drawn while much was printed.
func (m *emulator) goldenEnd(name string, rows int) {
	m.t.Helper()
	m.goldenOf(name, func() string {
		all := strings.SplitAfter(m.screen(), "\n")
		return strings.Join(all[max(0, len(all)-1-rows):], "")
	})
}

func (m *emulator) goldenOf(name string, screen func() string) {
	m.t.Helper()
	path := filepath.Join("testdata", "screens", name+".txt")
	want, err := os.ReadFile(path)
	if err != nil && !*update {
		m.t.Fatal(err)
	}
	wait := patience
	if *update {
		wait /= 4
	}
	deadline := time.After(wait)
	for screen() != string(want) {
		select {
		case piece, open := <-m.shown:
			if open {
				m.take(piece)
				continue
			}
		case <-deadline:
		}
		if !*update {
			m.t.Errorf("%s: -want +got\n%s", name, cmp.Diff(string(want), screen()))
			return
		}
		if err := os.WriteFile(path, []byte(screen()), 0o600); err != nil {
			m.t.Fatal(err)
		}
		return
	}
}

func (m *emulator) ended(want int) {
	m.t.Helper()
	deadline := time.After(patience)
	for shown, status := m.shown, m.status; shown != nil || status != nil; {
		select {
		case piece, open := <-shown:
			if m.take(piece); !open { // the terminal closes with its last process
				shown = nil
			}
		case got := <-status:
			if status = nil; got != want {
				m.t.Errorf("status: got %d, want %d", got, want)
			}
		case <-deadline:
			m.t.Fatalf("the program does not end:\n%s", m.screen())
		}
	}
}

const (
	arrowUp, arrowLeft = "\x1b[A", "\x1b[D"
	ctrlA, ctrlW       = "\x01", "\x17"
	altEnter           = "\x1b\r"
)

// pasted is text as terminals send it, in brackets.
func pasted(text string) string { return "\x1b[200~" + text + "\x1b[201~" }

// The keys of an editor work, and what was entered comes back, also in the next run.
func TestEditing(t *testing.T) {
	t.Parallel()
	cmd := command(t)
	home := cmd.Env
	m := openScreenOf(t, cmd)
	m.enter("you ›", "hat is 17 plus X"+arrowLeft+arrowLeft+ctrlW+"plus "+"\x7f\x7f\x7f\x7f\x7f")
	m.typed(ctrlA + "W\x05\x7f\x7fplus 25?\r")
	m.await("Allow it?  [y]es")
	m.golden("approval")
	m.typed("y")
	m.await("The result: 17 + 25 = 42.")
	m.await("you ›\n")
	m.typed("first line" + altEnter + "second line" + ctrlC)
	m.until("the line is cleared", func(s string) bool { return !strings.Contains(s, "second line") })
	m.typed("a\\\rb")
	m.await("you › a\n      b")
	m.typed(ctrlC + arrowUp)
	m.await("you › What is 17 plus 25?")
	m.golden("editing")
	m.typed(ctrlC + ctrlD)
	m.ended(0)

	again := command(t)
	again.Env = home
	m = openScreenOf(t, again)
	m.enter("you ›", arrowUp)
	m.await("you › What is 17 plus 25?")
	m.typed(ctrlC + ctrlD)
	m.ended(0)
}

// An approval can be edited, and what is always allowed is so in the next run, for the
// same definition.
func TestApproval(t *testing.T) {
	t.Parallel()
	cmd := command(t)
	env := cmd.Env
	m := openScreenOf(t, cmd)
	m.enter("you ›", "What is 17 plus 25?\r")
	m.enter("[y]es", "?")
	m.enter("[f]orbid\n", "e")
	m.enter("Enter sends it", arrowUp+"\x05\x7f\x7fx\r")
	m.await("✗ line 3, column 8: ")
	m.golden("edit")
	m.typed("\x1b")
	m.enter("[f]orbid  [?]", "e")
	m.await("Enter sends it")
	m.enter("\"b\": x\n", arrowUp+"\x05\x7f30\r")
	m.await("17 + 30 = 47")
	m.enter("you ›\n", "What is 1 plus 2?\r")
	m.enter("[y]es", "a")
	m.await("1 + 2 = 3")
	m.enter("you ›\n", ctrlD)
	m.ended(0)

	again := command(t)
	again.Env = env
	m = openScreenOf(t, again)
	m.enter("you ›", "What is 3 plus 4?\r")
	m.await("The result: 3 + 4 = 7.")
	m.enter("you ›\n", ctrlD)
	m.ended(0)
}

// A program that was killed continues where it waited: with the approval, and with the form.
func TestContinue(t *testing.T) {
	t.Parallel()
	cmd := command(t)
	env := cmd.Env
	m := openScreenOf(t, cmd)
	m.enter("you ›", "Book a table for 4\r")
	m.await("[y]es")
	m.kill()
	m.onlyForThePerson("conversations.db", "conversations.db-wal")

	cmd = command(t, "-continue")
	cmd.Env = env
	m = openScreenOf(t, cmd)
	m.await("you › Book a table for 4")
	m.enter("[y]es", "y")
	m.await("┃ Date")
	m.kill()

	cmd = command(t, "-continue")
	cmd.Env = env
	m = openScreenOf(t, cmd)
	m.enter("Enter continues", "2030-05-01\r")
	m.enter("┃ Time", "19:00\r")
	m.enter("┃ Number", "\r")
	m.enter("┃ Where", "\r")
	m.enter("┃ With children", "\r")
	m.enter("┃ Note", "\r")
	m.enter("Send this to demo?  [y]es", "y")
	m.await("Booked: a table for 4")
	m.enter("you ›\n", "What did I ask before?\r")
	m.await("Before that you asked: Book a table for 4")
	m.golden("continued")
	m.enter("you ›\n", "/undo\r")
	m.await("forgotten: What did I ask before?")
	m.enter("you ›\n", "/conversations\r")
	m.await(" 1  DATE")
	m.enter("you ›\n", ctrlD)
	m.ended(0)
}

// The newest conversation is that of the folder in which the program starts.
func TestContinueInAFolder(t *testing.T) {
	t.Parallel()
	home, one, two := command(t).Env, t.TempDir(), t.TempDir()
	open := func(folder string, args ...string) *emulator {
		cmd := command(t, args...)
		cmd.Env, cmd.Dir = home, folder
		return openScreenOf(t, cmd)
	}
	for _, folder := range []string{one, two} {
		m := open(folder)
		m.enter("you ›", "hello from "+filepath.Base(folder)+filepath.Base(filepath.Dir(folder))+"\r")
		m.await("bot ›")
		m.leave()
	}
	m := open(one, "-continue")
	m.await("(in this folder)")
	m.await("you › hello from " + filepath.Base(one))
	m.enter("you ›\n", "/conversations\r")
	m.await(filepath.Base(two) + ")\n")
	m.leave()
	m = open(t.TempDir(), "-continue")
	m.await("error: no conversation of this folder to continue")
	m.leave()
}

// onlyForThePerson checks the modes of files that the program keeps.
func (m *emulator) onlyForThePerson(names ...string) {
	m.t.Helper()
	for _, name := range names {
		info, err := os.Stat(filepath.Join(m.home(), ".config", "mcpchain", "chatbot", name))
		if err != nil || info.Mode().Perm() != 0o600 {
			m.t.Errorf("%s: got %v, %v, want mode 0600", name, info, err)
		}
	}
}

// kill ends the program as a power cut does.
func (m *emulator) kill() {
	m.t.Helper()
	if err := m.cmd.Process.Kill(); err != nil {
		m.t.Fatal(err)
	}
	m.ended(-1)
}

// A paste of several lines is one question, and none of its characters is a key.
func TestPaste(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "trace.jsonl")
	m := openScreen(t, "-trace", path)
	m.enter("you ›", pasted("Summarize:\rline one\n\tline two\x1b[31m\x03"))
	m.await("line two")
	m.typed("\r")
	m.await("Allow it?")
	m.await("[y]es")
	m.typed("n")
	m.await("bot ›")
	m.enter("you ›\n", ctrlD)
	m.ended(0)
	var questions []string
	for _, r := range readTrace(t, path) {
		if r["event"] == "question" {
			questions = append(questions, r["text"].(string))
		}
	}
	if len(questions) != 1 || !strings.HasPrefix(questions[0], "Summarize:\nline one\n") || strings.ContainsAny(questions[0], "\x1b\x03\r") {
		t.Errorf("got %q, want one question without control characters", questions)
	}
}

// What is typed while the model works answers nothing and begins no turn.
func TestTypeAhead(t *testing.T) {
	t.Parallel()
	m := openScreen(t)
	m.enter("you ›", "Count to 5\ry\ry\ra")
	m.await("Allow it?  [y]es")
	if s := m.screen(); strings.Contains(s, "→ demo count") {
		t.Errorf("the call was approved by type-ahead:\n%s", s)
	}
	m.typed("n")
	m.await("Error: the call of count was denied")
	m.await("you › yya") // what was typed waits in the editor
	m.typed(ctrlC + ctrlD)
	m.ended(0)
}

// Ctrl-C ends the turn; another one soon after ends the program, with the terminal as
// it was.
func TestInterruptsOnATerminal(t *testing.T) {
	t.Parallel()
	m := openScreen(t, "-yes")
	m.enter("you ›", "Count to 1000\r")
	m.enter("3/1000 counted to 3", ctrlC)
	m.enter("interrupted; Ctrl-C again leaves", ctrlC)
	m.ended(130)
	for _, off := range []string{"\x1b[?2004l", "\x1b[?25h"} {
		if !strings.Contains(string(m.whole), off) {
			t.Errorf("the terminal was left without %q", off)
		}
	}
}

// answering is a model that streams a text in small pieces.
func answering(t *testing.T, text string) []string {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for rest := text; rest != ""; {
			n := min(7, len(rest))
			piece, err := json.Marshal(rest[:n])
			if err != nil {
				t.Error(err)
			}
			fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":%s}}]}\n\n", piece)
			w.(http.Flusher).Flush()
			rest = rest[n:]
		}
		io.WriteString(w, "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":12800,\"completion_tokens\":340}}\n\ndata: [DONE]\n\n")
	}))
	t.Cleanup(server.Close)
	return []string{"-base-url", server.URL + "/v1", "-model", "m", "-config", configure(t, map[string]string{})}
}

// Markdown is drawn: headings, lists, tables, and code as it was written.
func TestMarkdown(t *testing.T) {
	t.Parallel()
	const text = "# Results\n\nA **bold** word, `code`, a <name>, and [a page](https://example.com/x).\n\n- one\n- two\n  1. deep\n\n" +
		"| Name | Size |\n|---|---:|\n| main.go | 4076 |\n\n```go\nfunc main() {\n\tif true {\n\t\tfmt.Println(\"a line of code that is wider than the window of this terminal, which is not wrapped\")\n\t}\n}\n```\n" +
		"No escapes: \x1b[2J &#27;[8m\n"
	m := openScreen(t, answering(t, text)...)
	m.enter("you ›", "Show me\r")
	m.await("No escapes")
	m.await("you ›\n")
	m.golden("markdown")
	if !strings.Contains(string(m.whole), "\t\tfmt.Println(") {
		t.Error("the tabs of the code did not reach the terminal")
	}
	m.typed(ctrlD)
	m.ended(0)
}

// A form shows what is wrong beside the field, can be gone back in, and takes arrow keys
// as such.
func TestFormOnScreen(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "trace.jsonl")
	m := openScreen(t, "-trace", path)
	m.enter("you ›", "Book a table for 4\r")
	m.enter("[y]es", "y")
	m.enter("Enter continues", "2030-02-30\r")
	m.await("want a day of")
	m.golden("form")
	m.typed(ctrlC)
	m.until("the field is empty", func(s string) bool { return !strings.Contains(s, "2030-02-30") })
	m.typed("2030-05-01\r")
	m.enter("┃ Time", "19:00\r")
	m.enter("┃ Number", "\x1b[Z") // back
	m.enter("┃ Time", "\x7f\x7f30\r")
	m.enter("┃ Number", "\r")
	m.enter("┃ Where", "\x1b[B\r")
	m.enter("┃ With children", "\r")
	m.enter("┃ Note", "quiet"+arrowLeft+arrowUp+"\r")
	m.await("Send this to demo?  [y]es")
	m.golden("summary")
	m.typed("y")
	m.await("Booked: a table")
	m.await("you ›\n")
	if n := strings.Count(m.screen(), "→ demo book_table"); n != 1 {
		t.Errorf("got %d lines about the begin of one call:\n%s", n, m.screen())
	}
	m.leave()
	for _, r := range readTrace(t, path) {
		if r["event"] == "elicitation" && r["content"].(map[string]any)["time"] != "19:30" {
			t.Errorf("got %v, want the time as it was corrected", r["content"])
		}
	}
}

// A limit of the rate is shown while the model is waited for, and a turn that was stopped
// leaves a conversation that can continue.
func TestLimitOfRate(t *testing.T) {
	t.Parallel()
	var calls atomic.Int64
	demo := tryout.ModelHandler()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/chat/completions") && calls.Add(1) == 1 {
			w.Header().Set("Retry-After", "20")
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		demo.ServeHTTP(w, r)
	}))
	defer server.Close()
	m := openScreen(t, "-demo", "-base-url", server.URL+"/v1", "-model", "m", "-yes")
	m.enter("you ›", "hello\r")
	m.enter("429 Too Many Requests, again in ", ctrlC)
	m.await("interrupted")
	m.enter("you ›\n", "What is 1 plus 2?\r")
	m.await("The result: 1 + 2 = 3.")
	m.enter("you ›\n", ctrlD)
	m.ended(0)
}

// The screen follows the window of the terminal.
func TestResize(t *testing.T) {
	t.Parallel()
	m := openScreen(t, "-yes")
	m.enter("you ›", "Count to 1000\r")
	m.await("3/1000 counted to 3")
	m.vt.Resize(60, 60)
	resize(t, m.file, 60, 60)
	m.enter("0/1000 counted", ctrlC) // the end of the line does not fit
	m.enter("you ›\n", strings.Repeat("words ", 12))
	m.until("the text is wrapped", func(s string) bool {
		for line := range strings.Lines(s[strings.LastIndex(s, "you ›"):]) {
			if len([]rune(line)) > 61 {
				return false
			}
		}
		return strings.Contains(s, "\n      words")
	})
	m.typed(ctrlC + ctrlD)
	m.ended(0)
}
