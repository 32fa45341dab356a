package chat

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// plain is the program on a terminal that cannot move its cursor, and its output.
type plain struct {
	t      *testing.T
	file   *os.File // the person's side
	shown  chan string
	screen string
	whole  string // all output
	status chan int
}

func openPlain(t *testing.T, args ...string) *plain {
	t.Helper()
	file, status := onTerminal(t, command(t, args...), "TERM=dumb", 0, 0)
	p := &plain{t: t, file: file, shown: make(chan string, 100), status: status}
	go p.watch()
	return p
}

// onTerminal starts the program on a pseudo-terminal. It returns the person's side, and
// where the exit status comes.
func onTerminal(t *testing.T, cmd *exec.Cmd, term string, columns, rows uint16) (person *os.File, status chan int) {
	t.Helper()
	person, tty := pseudoTerminal(t)
	defer tty.Close()
	resize(t, tty, columns, rows)
	cmd.Env = append(append([]string{"NO_COLOR=1"}, cmd.Env...), term)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	status = make(chan int, 1)
	go func() {
		_ = cmd.Wait() // see ProcessState
		status <- cmd.ProcessState.ExitCode()
	}()
	return person, status
}

// pseudoTerminal opens a terminal: the person's side, and the program's.
func pseudoTerminal(t *testing.T) (person, tty *os.File) {
	t.Helper()
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { person.Close() })
	if err := unix.IoctlSetPointerInt(int(person.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(int(person.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	tty, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	return person, tty
}

func resize(t *testing.T, tty *os.File, columns, rows uint16) {
	t.Helper()
	if err := unix.IoctlSetWinsize(int(tty.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: columns, Row: rows}); err != nil {
		t.Fatal(err)
	}
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

// await returns when the text is shown, and forgets the output up to it.
func (m *plain) await(text string) {
	m.t.Helper()
	deadline := time.After(patience)
	for !strings.Contains(m.screen, text) {
		select {
		case piece, ok := <-m.shown:
			if !ok {
				m.t.Fatalf("the terminal closed without %q: %q", text, m.screen)
			}
			m.screen, m.whole = m.screen+piece, m.whole+piece
		case <-deadline:
			m.t.Fatalf("no %q on the terminal: %q", text, m.screen)
		}
	}
	_, m.screen, _ = strings.Cut(m.screen, text)
}

// enter types when the text is shown.
func (m *plain) enter(when, typed string) {
	m.t.Helper()
	m.await(when)
	if _, err := io.WriteString(m.file, typed); err != nil {
		m.t.Fatal(err)
	}
}

func (m *plain) ended(want int) {
	m.t.Helper()
	select {
	case got := <-m.status:
		if got != want {
			m.t.Errorf("status: got %d, want %d", got, want)
		}
	case <-time.After(patience):
		m.t.Fatalf("the program does not end: %q", m.screen)
	}
}

const (
	ctrlC = "\x03"
	ctrlD = "\x04"
)

func TestPlainTerminal(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "trace.jsonl")
	m := openPlain(t, "-trace", path)
	m.enter("you › ", "What is 17 plus 25?\n")
	m.enter("Allow it? [y]es, [n]o, [w]ords, [e]dit, [a]lways, [s]erver, [f]orbid, [?]: ", "n\n")
	m.await("bot › Error: the call of add was denied. Nothing was done.")

	m.enter("you › ", "Summarize: Go is small. It is fun.\n")
	m.await(`wants to run summarize on the server demo`)
	m.enter("[f]orbid, [?]: ", "y\n")
	m.await("The server demo wants to put this to the model demo")
	m.enter("[a]lways for this server: ", "y\n")
	m.await("the model answered demo: Go is small.")
	m.await("bot › Summary: Go is small.")

	m.enter("you › ", "Book a table for 4\n")
	m.enter("[f]orbid, [?]: ", "a\n")
	m.await("The server demo asks:")
	m.enter("Date (year-month-day): ", "2030-05-01\n")
	m.enter("19:30): ", "20:00\n")
	m.enter("Number of people [4]: ", "3\n")
	m.enter("[Inside]: ", "3\n")
	m.enter("[no]: ", "\n")
	m.enter("[nothing]: ", "\x1b[Aquiet\x1b[D\n")
	m.await("Note to the kitchen: quiet\r\n")
	m.enter("Send this to demo? [y]es, [e]dit, [n]o, [c]ancel: ", "y\n")
	m.await("bot › Booked: a table for 3 at the bar at Chez Démo on 2030-05-01 at 20:00; note: quiet.")

	m.enter("you › ", "/read demo://menu\n")
	m.await("Lemon tart")
	m.enter("you › ", "/prompt evening city=Oslo\n")
	m.enter("wants to run weather on the server demo", ctrlC)
	m.await("interrupted; Ctrl-C again leaves")
	m.enter("you › ", "/read\n")
	m.await("error: usage: /read URI")
	m.enter("you › ", ctrlD)
	m.ended(0)
	if strings.Contains(m.whole, "\x1b") {
		t.Errorf("a terminal without escape sequences got %q", m.whole)
	}

	actions := map[string]string{}
	for _, r := range readTrace(t, path) {
		if action, ok := r["action"].(string); ok {
			actions[r["event"].(string)+" "+r["tool"].(string)] = action
		}
	}
	for what, want := range map[string]string{"approval add": "deny", "approval summarize": "allow", "elicitation book_table": "accept"} {
		if actions[what] != want {
			t.Errorf("trace: %s: got %q, want %q", what, actions[what], want)
		}
	}
}

// Lines typed while the model worked must not approve anything.
func TestPlainTypeAhead(t *testing.T) {
	t.Parallel()
	m := openPlain(t)
	m.enter("you › ", "Count to 5\ny\ny\ny\n")
	m.await("Allow it? [y]es, [n]o, [w]ords, [e]dit, [a]lways, [s]erver, [f]orbid, [?]: ")
	m.enter("", ctrlC)
	m.await("interrupted")
	if strings.Contains(m.screen, "→ demo count") {
		t.Errorf("the call was approved by type-ahead: %q", m.screen)
	}
	m.enter("you › ", ctrlC)
	m.ended(130)
}

func TestInterruptsOnAPlainTerminal(t *testing.T) {
	t.Parallel()
	m := openPlain(t, "-yes")
	m.enter("you › ", "Count to 1000\n")
	m.enter("count 3/1000", ctrlC)
	m.enter("interrupted; Ctrl-C again leaves", ctrlC)
	m.ended(130)

	m = openPlain(t)
	m.enter("you › ", ctrlC)
	m.enter("press Ctrl-C again, or Ctrl-D, to leave", ctrlC)
	m.ended(130)
}

// One Ctrl-C is enough while there is no conversation yet.
func TestInterruptWhileConnecting(t *testing.T) {
	t.Parallel()
	m := openPlain(t, "-config", configure(t, map[string]string{"slow": "mute"}))
	m.enter("connecting to slow …", ctrlC)
	m.ended(130)
	if strings.Contains(m.screen, "again") {
		t.Errorf("it is said that Ctrl-C must be repeated: %q", m.screen)
	}
}

// A terminal that cannot move its cursor gets no sequence that would.
func TestPlainTerminalStandsStill(t *testing.T) {
	t.Parallel()
	m := openPlain(t, "-yes")
	m.enter("you › ", "Count to 3\n")
	m.await("you › ")
	if !strings.Contains(m.whole, "connecting to demo …\r\n") || strings.Contains(m.whole, "\x1b") {
		t.Errorf("got %q", m.whole)
	}
	m.enter("", ctrlD)
	m.ended(0)
}
