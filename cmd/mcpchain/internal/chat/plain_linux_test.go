package chat

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcpchain/mcpchain/internal/check"
)

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
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	check.Must(t, err)
	t.Cleanup(func() { person.Close() })
	check.Must(t, unix.IoctlSetPointerInt(int(person.Fd()), unix.TIOCSPTLCK, 0))
	number, err := unix.IoctlGetInt(int(person.Fd()), unix.TIOCGPTN)
	check.Must(t, err)
	tty, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	check.Must(t, err)
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

// await waits for the text, and drops the output up to it.
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

// enter types a text when another one is shown.
func (m *plain) enter(when, typed string) {
	m.t.Helper()
	m.await(when)
	check.Must(m.t, check.Err(io.WriteString(m.file, typed)))
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

// leave ends the program.
func (m *plain) leave() {
	m.t.Helper()
	m.enter("you › ", ctrlD)
	m.ended(0)
}

const (
	ctrlC = "\x03"
	ctrlD = "\x04"
)
