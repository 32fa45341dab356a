package browsertest_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"golang.org/x/sys/unix"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/demoservers"
	"github.com/mcpchain/mcpchain/internal/testenv"
)

// terminal is the chatbot on a terminal, with a person at it.
type terminal struct {
	t    *testing.T
	file *os.File // the person's side
	done chan struct{}

	mu    sync.Mutex // guards the field below
	shown string     // without escape sequences
}

var escapes = regexp.MustCompile("\x1b\\[[0-9;:<=>?]*[ -/]*[@-~]|\x1b\\][^\x07\x1b]*(\x07|\x1b\\\\)|\x1b[P_][^\x1b]*\x1b\\\\|\x1b[^\\[\\]P_]")

// startChatbot runs the chatbot with servers until the test ends.
func startChatbot(t *testing.T, servers map[string]any) *terminal {
	t.Helper()
	binary, err := built()
	if err != nil {
		t.Fatal(err)
	}
	config, err := json.Marshal(map[string]any{"mcpServers": servers})
	if err != nil {
		t.Fatal(err)
	}
	m := &terminal{t: t, done: make(chan struct{})}
	tty := m.open()
	defer tty.Close()
	cmd := exec.Command(binary, "chat", "-config", write(t, "mcp.json", string(config)))
	cmd.Env = []string{"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH"), "TERM=xterm-256color", "NO_COLOR=1"}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go m.watch()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		<-m.done
		_ = m.file.Close()
	})
	return m
}

// open opens a pseudo-terminal, and returns the program's side.
func (m *terminal) open() *os.File {
	m.t.Helper()
	var err error
	if m.file, err = os.OpenFile("/dev/ptmx", os.O_RDWR, 0); err != nil {
		m.t.Fatal(err)
	}
	fd := int(m.file.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		m.t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		m.t.Fatal(err)
	}
	if err := unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Col: 120, Row: 50}); err != nil {
		m.t.Fatal(err)
	}
	tty, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		m.t.Fatal(err)
	}
	return tty
}

func (m *terminal) watch() {
	defer close(m.done)
	var rest string
	for b := make([]byte, 4096); ; {
		n, err := m.file.Read(b)
		rest += string(b[:n])
		whole := rest
		if i := strings.LastIndexByte(rest, 0x1b); i >= 0 && len(rest)-i < 40 {
			whole = rest[:i] // the sequence may go on
		}
		rest = rest[len(whole):]
		m.mu.Lock()
		m.shown += escapes.ReplaceAllString(whole, "")
		m.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// await waits for a text, and forgets what was shown up to it.
func (m *terminal) await(text string) {
	m.t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		m.mu.Lock()
		_, after, found := strings.Cut(m.shown, text)
		if found {
			m.shown = after
		}
		shown := m.shown
		m.mu.Unlock()
		if found {
			return
		}
		if time.Now().After(end) {
			m.t.Fatalf("waited in vain for %q; the terminal shows\n%s", text, shown)
		}
	}
}

func (m *terminal) typed(keys string) {
	m.t.Helper()
	if _, err := m.file.WriteString(keys); err != nil {
		m.t.Fatal(err)
	}
}

var viewAddress = regexp.MustCompile(`http://127\.0\.0\.1:\d+/[A-Z2-7]{26}/`)

// opens follows the link to the view of a tool's result.
func (m *terminal) opens(call, tool string) *person {
	m.t.Helper()
	m.await("you ›")
	m.typed(call + "\r")
	m.await("[y]es")
	m.typed("y")
	m.await("view of " + tool + ": ")
	var address string
	for end := time.Now().Add(patience); address == ""; time.Sleep(20 * time.Millisecond) {
		m.mu.Lock()
		address = viewAddress.FindString(m.shown)
		m.mu.Unlock()
		if time.Now().After(end) {
			m.t.Fatal("there is no address")
		}
	}
	return open(m.t, &program{url: address}, nil)
}

// TestViewOfChatbot shows a view on the chatbot's page, and has the person decide in the terminal on what the view wants.
func TestViewOfChatbot(t *testing.T) {
	t.Parallel()
	servers, err := demoservers.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = servers.Close() })
	m := startChatbot(t, map[string]any{"desk": map[string]any{"type": "http", "url": servers.DeskURL}})
	page := m.opens(`call visitors {"day":"Friday"}`, "desk visitors")
	page.see("h1", "View of desk, for visitors")
	page.sees("Visitors on Friday")
	page.sees("Emmy Noether")
	page.inView(day + " && Math.abs(innerHeight - Math.ceil(document.documentElement.getBoundingClientRect().height)) <= 1") // the size that it tells
	page.shoot("chatbot view")

	page.checkIn("Lise Meitner")
	m.await("A view of the server desk wants to run check_in there:")
	m.await("[y]es")
	m.typed("y")
	page.sees("Lise Meitner is checked in.")
	m.await("desk check_in: Lise Meitner is checked in.")

	page.checkIn("Maria Mayer")
	m.await("Maria Mayer")
	m.await("[y]es")
	m.typed("n")
	page.sees("denied by the user")

	page.inView(day, "document.querySelector('#help').click()")
	m.await("https://desk.example.com/rules")
	m.await("[y]es")
	m.typed("n")
	page.sees("Page: ")

	page.inView(day, "document.querySelector('#tell').click()")
	m.await("How many visitors are there?")
	m.await("[y]es")
	m.typed("y")
	page.sees("Message: sent")
	m.await("Written by the view of the server desk")

	page.inView(day, "document.querySelector('#full').click()")
	page.sees("shown inline") // the page has no other mode
	if reached := eval[bool](page, "(() => { try { return Boolean(document.querySelector('iframe').contentDocument); } catch { return false; } })()"); reached {
		t.Error("the page reaches into the frame: they have one origin")
	}
	page.click("#close", "Close")
	page.see("#says", "The view is closed")
	page.do(chromedp.Reload())
	page.sees("Visitors on Friday")
}

// TestRealViewOfChatbot shows a view of the official repository, which is made with the official library.
func TestRealViewOfChatbot(t *testing.T) {
	t.Parallel()
	servers := testenv.InstallNPM(t, os.DirFS(filepath.Join("..", "..", "..", "evals", "apps", "testdata", "servers")))
	m := startChatbot(t, map[string]any{"clock": map[string]any{
		"command": servers.Node(), "args": []string{filepath.Join(servers.Module("@modelcontextprotocol/server-basic-vanillajs"), "dist", "index.js"), "--stdio"},
	}})
	page := m.opens("call get-time {}", "clock get-time")
	const clock = "document.getElementById('get-time-btn')"
	page.inView(clock + " && /\\d\\d:\\d\\d/.test(document.body.innerText)")
	page.shoot("chatbot real view")
	page.inView(clock, "("+clock+".click(), true)")
	m.await("A view of the server clock wants to run get-time there:")
	m.await("[y]es")
	m.typed("y")
	m.await("← clock get-time:")
	page.click("#close", "Close")
	page.see("#says", "The view is closed")
}
