package chat

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hinshun/vt10x"

	"github.com/mcpchain/mcpchain/internal/check"
)

var update = flag.Bool("update", false, "write the screens of testdata/screens")

type emulator struct {
	t      *testing.T
	file   *os.File // the person's side of the terminal
	vt     vt10x.Terminal
	shown  chan []byte
	raw    []byte // an unfinished escape sequence
	whole  []byte // all output
	status chan int
	cmd    *exec.Cmd
}

// openScreen starts the program on a terminal of 80 columns and many rows, because the emulator has no scrollback.
func openScreen(t *testing.T, args ...string) *emulator {
	t.Helper()
	return openScreenOf(t, command(t, args...))
}

func openScreenOf(t *testing.T, cmd *exec.Cmd) *emulator {
	t.Helper()
	return openScreenSized(t, 80, 60, cmd)
}

func openScreenSized(t *testing.T, columns, rows int, cmd *exec.Cmd) *emulator {
	t.Helper()
	file, status := onTerminal(t, cmd, "TERM=xterm-256color", uint16(columns), uint16(rows))
	m := watchScreen(t, file, columns, rows)
	m.status, m.cmd = status, cmd
	return m
}

// watchScreen returns an emulator of the person's side of a terminal.
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

// unknown matches escape sequences that the emulator misinterprets.
var unknown = regexp.MustCompile("\x1b\\[[<>=][0-9;]*[a-zA-Z]|\x1b\\[\\?[0-9;]*(\\$p|u|n)|\x1b\\][^\x07\x1b]*(\x07|\x1b\\\\)|\x1b[P_][^\x1b]*\x1b\\\\|\x1b\\[[0-9;]* q")

// take writes output to the emulator. It holds back an unfinished escape sequence.
func (m *emulator) take(b []byte) {
	m.whole = append(m.whole, b...)
	text := append(m.raw, b...)
	end := len(text)
	if i := bytes.LastIndexByte(text, 0x1b); i >= 0 && !finished.Match(text[i:]) {
		end = i
	}
	for _, begin := range []string{"\x1bP", "\x1b_"} { // strings that "ESC \\" ends
		if i := bytes.LastIndex(text, []byte(begin)); i >= 0 && !bytes.Contains(text[i:], []byte("\x1b\\")) {
			end = min(end, i)
		}
	}
	m.raw = append([]byte(nil), text[end:]...)
	check.Must(m.t, check.Err(m.vt.Write(unknown.ReplaceAll(text[:end], nil))))
}

// finished matches an escape sequence that is complete.
var finished = regexp.MustCompile("^\x1b(\\[[^a-zA-Z@`~]*[a-zA-Z@`~]|\\][^\x07]*\x07|[^\\[\\]P_])")

// What differs between runs is replaced on the screens of testdata.
var (
	clock = regexp.MustCompile(`\b(?:\d+ s|\d:\d\d)\b`)
	port  = regexp.MustCompile(`127\.0\.0\.1:\d+`)
	date  = regexp.MustCompile(`\b20\d\d-\d\d-\d\d \d\d:\d\d\b`)
	saved = regexp.MustCompile(`\d{8}-\d{6}-[0-9a-f]{6}`) // in the names of saved files
)

// screen returns the rows of the screen without blank ones at the end, and without what differs between runs.
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
	text := strings.TrimRight(b.String(), "\n") + "\n"
	text = clock.ReplaceAllString(text, "N s")
	text = port.ReplaceAllString(text, "127.0.0.1:N")
	text = date.ReplaceAllString(text, "DATE")
	return saved.ReplaceAllString(text, "TIME")
}

// await waits until the screen has each of the texts, one after the other.
func (m *emulator) await(texts ...string) {
	m.t.Helper()
	for _, text := range texts {
		m.until("the screen has "+text, func(screen string) bool { return strings.Contains(screen, text) })
	}
}

// until waits until the screen is as a function wants it. what names that in errors.
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

// enter has pairs of a text and keys, which are typed when the screen has the text. A last text alone is awaited.
func (m *emulator) enter(steps ...string) {
	m.t.Helper()
	for step := range slices.Chunk(steps, 2) {
		m.await(step[0])
		check.Must(m.t, check.Err(io.WriteString(m.file, strings.Join(step[1:], ""))))
	}
}

// typed types keys at once, and continues as enter does.
func (m *emulator) typed(keys string, steps ...string) {
	m.t.Helper()
	m.enter(append([]string{"", keys}, steps...)...)
}

// ask has pairs of a line, which is entered at the prompt, and a text, which the screen has to show then.
func (m *emulator) ask(pairs ...string) {
	m.t.Helper()
	for pair := range slices.Chunk(pairs, 2) {
		m.enter("you ›\n", pair[0]+"\r", pair[1])
	}
}

// golden waits until the screen equals a file of testdata/screens.
func (m *emulator) golden(name string) {
	m.t.Helper()
	m.goldenOf(name, m.screen)
}

// goldenEnd is golden for the last rows. The rows above them depend on timing when much was printed.
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
	check.Require(m.t, err == nil || *update, "%v", err)
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
		put(m.t, path, screen(), 0o600)
		return
	}
}

// ended waits for the end of the program, and checks its exit status.
func (m *emulator) ended(want int) {
	m.t.Helper()
	for deadline, open := time.After(patience), true; open; { // the terminal closes with its last process
		var piece []byte
		select {
		case piece, open = <-m.shown:
			m.take(piece)
		case <-deadline:
			m.t.Fatalf("the program does not end:\n%s", m.screen())
		}
	}
	check.Equal(m.t, "status", <-m.status, want)
}

const (
	arrowUp, arrowLeft = "\x1b[A", "\x1b[D"
	ctrlA, ctrlW       = "\x01", "\x17"
	altEnter           = "\x1b\r"
)

func pasted(text string) string { return "\x1b[200~" + text + "\x1b[201~" }

// atTheBottom waits until the input is in the last rows of the screen.
func (m *emulator) atTheBottom() {
	m.t.Helper()
	m.until("the last rows are in use", func(screen string) bool {
		_, rows := m.vt.Size()
		return strings.Count(screen, "\n") >= rows-2
	})
}

// onlyForThePerson checks that only the owner can read files that the program keeps.
func (m *emulator) onlyForThePerson(names ...string) {
	m.t.Helper()
	for _, name := range names {
		info, err := os.Stat(filepath.Join(m.home(), ".config", "mcpchain", "chatbot", name))
		check.That(m.t, err == nil && info.Mode().Perm() == 0o600, "%s: got %v, %v, want mode 0600", name, info, err)
	}
}

func (m *emulator) kill() {
	m.t.Helper()
	check.Must(m.t, m.cmd.Process.Kill())
	m.ended(-1)
}

func (m *emulator) home() string {
	for _, v := range m.cmd.Env {
		if dir, ok := strings.CutPrefix(v, "HOME="); ok {
			return dir
		}
	}
	return ""
}

// here returns a command with a file of servers in its own folder, so that no path is on the screen.
func here(t *testing.T, servers []string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := command(t, append([]string{"-config", "servers.json"}, args...)...)
	cmd.Dir = t.TempDir()
	text := strings.ReplaceAll(entries(t, servers...), cmd.Path, "/proc/self/exe")
	put(t, filepath.Join(cmd.Dir, "servers.json"), text, 0o600)
	return cmd
}

func (m *emulator) leave() {
	m.t.Helper()
	m.enter("you ›\n", ctrlD)
	m.ended(0)
}

// fillForm fills the form of a booking, up to the question whether to send it.
func (m *emulator) fillForm() {
	m.t.Helper()
	m.enter("Enter continues", "2030-05-01\r", "┃ Time", "19:00\r", "┃ Number", "\r", "┃ Where", "\r", "┃ With children", "\r")
	m.enter("┃ Note", "\r", "Send this to demo?  [y]es")
}

func again(t *testing.T, cmd *exec.Cmd) *exec.Cmd {
	next := exec.CommandContext(t.Context(), cmd.Path, cmd.Args[1:]...)
	next.Dir, next.Env = cmd.Dir, cmd.Env
	return next
}

// answering returns the flags for a model that streams a text in small pieces.
func answering(t *testing.T, text string) []string {
	var deltas []string
	for piece := range slices.Chunk([]byte(text), 7) {
		deltas = append(deltas, `{"content":`+quotedJSON(string(piece))+`}`)
	}
	return streaming(t, deltas...)
}

// streaming returns the flags for a model that streams an answer.
func streaming(t *testing.T, deltas ...string) []string {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, delta := range deltas {
			fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":%s}]}\n\n", delta)
			w.(http.Flusher).Flush()
		}
		io.WriteString(w, "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":12800,\"completion_tokens\":340}}\n\ndata: [DONE]\n\n")
	}))
	t.Cleanup(server.Close)
	return []string{"-base-url", server.URL + "/v1", "-model", "m", "-config", configure(t)}
}
