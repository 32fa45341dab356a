package chat

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/tryout"
)

// The keys of the editor work, and the history comes back in the next run.
func TestEditing(t *testing.T) {
	t.Parallel()
	cmd := command(t)
	m := openScreenOf(t, cmd)
	m.enter("you ›", "hat is 17 plus X"+arrowLeft+arrowLeft+ctrlW+"plus "+"\x7f\x7f\x7f\x7f\x7f")
	m.typed(ctrlA+"W\x05\x7f\x7fplus 25?\r", "Allow it?  [y]es")
	m.golden("approval")
	m.typed("y", "The result: 17 + 25 = 42.")
	m.enter("you ›\n", "first line"+altEnter+"second line"+ctrlC)
	m.until("the line is cleared", func(s string) bool { return !strings.Contains(s, "second line") })
	m.typed("a\nb", "you › a\n      b", ctrlC+arrowUp, "you › What is 17 plus 25?")
	m.golden("editing")
	m.typed(ctrlC + ctrlD)
	m.ended(0)

	m = openScreenOf(t, again(t, cmd))
	m.enter("you ›", arrowUp, "you › What is 17 plus 25?", ctrlC+ctrlD)
	m.ended(0)
}

// The arguments of a call can be edited. A tool that is always allowed is not asked about in the next run.
func TestApproval(t *testing.T) {
	t.Parallel()
	cmd := command(t)
	m := openScreenOf(t, cmd)
	m.enter("you ›", "What is 17 plus 25?\r", "[y]es", "?", "[f]orbid\n", "e", "Enter sends it", arrowUp+"\x05\x7f\x7fx\r")
	m.await("✗ line 3, column 8: ")
	m.golden("edit")
	m.typed("\x1b", "[f]orbid  [?]", "e", "Enter sends it")
	m.enter("\"b\": x\n", arrowUp+"\x05\x7f30\r", "17 + 30 = 47")
	m.enter("you ›\n", "What is 1 plus 2?\r", "[y]es", "a", "1 + 2 = 3")
	m.leave()

	m = openScreenOf(t, again(t, cmd))
	m.ask("What is 3 plus 4?", "The result: 3 + 4 = 7.")
	m.leave()
}

// A program that was killed continues with the approval or the form that was open.
func TestContinue(t *testing.T) {
	t.Parallel()
	cmd := command(t)
	env := cmd.Env
	m := openScreenOf(t, cmd)
	m.ask("Book a table for 4", "[y]es")
	m.kill()
	m.onlyForThePerson("conversations.db", "conversations.db-wal")

	cmd = command(t, "-continue")
	cmd.Env = env
	m = openScreenOf(t, cmd)
	m.await("you › Book a table for 4")
	m.enter("[y]es", "y", "┃ Date")
	m.kill()

	cmd = command(t, "-continue")
	cmd.Env = env
	m = openScreenOf(t, cmd)
	m.fillForm()
	m.typed("y", "Booked: a table for 4")
	m.ask("What did I ask before?", "Before that you asked: Book a table for 4")
	m.golden("continued")
	m.ask("/undo", "forgotten: What did I ask before?", "/conversations", " 1  DATE")
	m.leave()
}

// -continue takes the newest conversation of the current folder.
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
		m.enter("you ›", "hello from "+filepath.Base(folder)+filepath.Base(filepath.Dir(folder))+"\r", "bot ›")
		m.leave()
	}
	m := open(one, "-continue")
	m.await("(in this folder)", "you › hello from "+filepath.Base(one))
	m.ask("/conversations", filepath.Base(two)+")\n")
	m.leave()
	m = open(t.TempDir(), "-continue")
	m.await("error: no conversation of this folder to continue")
	m.leave()
}

// A question in a conversation on which another program works does not end that work. It goes to a copy.
func TestConversationOfTwoPrograms(t *testing.T) {
	t.Parallel()
	home, folder := command(t).Env, t.TempDir()
	open := func(args ...string) *emulator {
		cmd := command(t, append(args, "-yes")...)
		cmd.Env, cmd.Dir = home, folder
		return openScreenOf(t, cmd)
	}
	one := open()
	one.ask("What is 1 plus 2?", "The result: 1 + 2 = 3.")
	two := open("-continue")
	two.await("you › What is 1 plus 2?")
	one.enter("you ›\n", "Book a table for 4\r")
	one.fillForm()
	two.ask("What is 6 times 7?", "another program works on this conversation")
	two.ask("What is 2 plus 2?", "The result: 2 + 2 = 4.")
	two.leave()
	one.typed("y", "Booked: a table for 4")
	one.enter("you ›\n", "Book a table for 4\r")
	one.fillForm()
	two = open("-continue")
	two.enter("waiting for the program that had the conversation", ctrlC, "interrupted")
	two.ask("/resume 1", "waiting for the program that had the conversation")
	one.typed("y")
	two.await("Booked: a table for 4")
	one.leave()
	two.leave()
}

// A paste of several lines is one question. Its tabs stay, its control characters are no keys.
func TestPaste(t *testing.T) {
	t.Parallel()
	m := openScreen(t)
	m.enter("you ›", pasted("Summarize:\rline one\n\tline two\x1b[31m\x03"), "line two")
	m.golden("paste")
	m.typed("\r", "Allow it?")
	m.enter("[y]es", "n", "bot ›")
	m.enter("you ›\n", "/undo\r", "forgotten: Summarize: line one line two\n")
	m.enter("you ›\n", "/undo\r", "there is no question to forget")
	m.leave()
}

// Keys that are typed while the model works answer no question of a call.
func TestTypeAhead(t *testing.T) {
	t.Parallel()
	m := openScreen(t)
	m.enter("you ›", "Count to 5\ry\ry\ra", "Allow it?  [y]es")
	s := m.screen()
	check.That(t, !strings.Contains(s, "→ demo count"), "the call was approved by type-ahead:\n%s", s)
	m.typed("n", "Error: the call of count was denied")
	m.await("you › y")
	m.kill()
}

// Questions that are entered during a turn wait for its end, and can be taken back. Ctrl-C gives them back.
func TestQueue(t *testing.T) {
	t.Parallel()
	m := openScreen(t, "-yes")
	m.enter("you ›", "Count to 20\rWhat is 6 times 7?\rx\ry"+arrowUp, "next › What is 6 times 7? (Up takes it back)\n\n  ··· x\n      y\n")
	m.await("The tool count says: counted to 20", "you › What is 6 times 7?", "The result: 6 × 7 = 42.", "you › x\n      y\n")
	m.typed(ctrlC+"Count to 1000\rlater\r", "next › later", ctrlC, "interrupted", "", "you › later\n")
	m.until("nothing waits", func(s string) bool { return !strings.Contains(s, "next ›") })
	m.typed(ctrlU + ctrlD) // another Ctrl-C would leave
	m.ended(0)
}

// Ctrl-C ends the turn, and a second one the program, which restores the terminal.
func TestInterruptsOnATerminal(t *testing.T) {
	t.Parallel()
	m := openScreen(t, "-yes")
	m.enter("you ›", "Count to 1000\r", "3/1000 counted to 3", ctrlC, "interrupted; Ctrl-C again leaves", ctrlC)
	m.ended(130)
	for _, off := range []string{"\x1b[?2004l", "\x1b[?25h"} {
		check.That(t, strings.Contains(string(m.whole), off), "the terminal was left without %q", off)
	}
}

// Headings, lists, tables and code are rendered.
func TestMarkdown(t *testing.T) {
	t.Parallel()
	const text = "# Results\n\nA **bold** word, `code`, a <name>, and [a page](https://example.com/x).\n\n- one\n- two\n  1. deep\n\n" +
		"| Name | Size |\n|---|---:|\n| main.go | 4076 |\n\n```go\nfunc main() {\n\tif true {\n\t\tfmt.Println(\"a line of code that is wider than the window of this terminal, which is not wrapped\")\n\t}\n}\n```\n" +
		"No escapes: \x1b[2J &#27;[8m\n"
	m := openScreen(t, answering(t, text)...)
	m.ask("Show me", "No escapes")
	m.golden("markdown")
	m.leave()
}

// A form shows mistakes beside the field, goes back with Shift-Tab, and handles arrow keys.
func TestFormOnScreen(t *testing.T) {
	t.Parallel()
	m := openScreen(t)
	m.enter("you ›", "Book a table for 4\r", "[y]es", "y", "Enter continues", "2030-02-30\r", "want a day of")
	m.golden("form")
	m.typed(ctrlC)
	m.until("the field is empty", func(s string) bool { return !strings.Contains(s, "2030-02-30") })
	m.typed("2030-05-01\r", "┃ Time", "19:00\r")
	m.enter("┃ Number", "\x1b[Z") // back
	m.enter("┃ Time", "\x7f\x7f30\r", "┃ Number", "\r", "┃ Where", "\x1b[B\r", "┃ With children", "\r")
	m.enter("┃ Note", "quiet"+arrowLeft+arrowUp+"\r", "Send this to demo?  [y]es")
	m.golden("summary")
	m.typed("y", "Booked: a table")
	m.until("the booked time is the corrected one", func(s string) bool {
		_, booked, _ := strings.Cut(s, "Booked: a table")
		return strings.Contains(booked, "19:30") && strings.HasSuffix(s, "you ›\n")
	})
	check.That(t, strings.Count(m.screen(), "→ demo book_table") == 1, "want one line about the begin of the call:\n%s", m.screen())
	m.leave()
}

// The wait for a rate limit is shown. A turn that is interrupted during it leaves a usable conversation.
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
	m.enter("you ›", "hello\r", "429 Too Many Requests, again in ", ctrlC, "interrupted")
	m.ask("What is 1 plus 2?", "The result: 1 + 2 = 3.")
	m.leave()
}

// Lines without blanks that are wider than the window are printed completely, and once.
func TestLongWords(t *testing.T) {
	t.Parallel()
	var lines []string
	for i := range 12 {
		line := fmt.Sprintf(`{"NAME_%02d":"`, i)
		for j := range 30 {
			line += fmt.Sprintf("%02d.%03d/", i, j)
		}
		lines = append(lines, line+`"}`)
	}
	for _, size := range [][2]int{{60, 40}, {80, 24}} {
		t.Run(fmt.Sprint(size[0], "x", size[1]), func(t *testing.T) {
			text := "The result:\n" + strings.Join(lines, "\n") + "\n\n```\n" + strings.Repeat("x", size[0]-1) + "y\n```\n"
			m := openScreenSized(t, size[0], size[1], command(t, answering(t, text)...))
			m.ask("Show me", "NAME_11")
			whole := append(lines[8:], strings.Repeat("x", size[0]-1)+"y")
			m.until("each of the last lines is there once", func(screen string) bool {
				shown := strings.ReplaceAll(screen, "\n", "")
				return strings.Contains(screen, "you ›\n") && !slices.ContainsFunc(whole, func(line string) bool {
					return strings.Count(shown, line) != 1
				})
			})
			m.leave()
		})
	}
}

// A warning about a server does not remove the line that says what the start waits for.
func TestWarningWhileConnecting(t *testing.T) {
	t.Parallel()
	m := openScreen(t, "-config", configure(t, `slow=!{"command": "sh", "args": ["-c", "echo starting; exec cat > /dev/null"]}`))
	m.enter("skipped a line", "typed ahead")
	m.await("typed ahead") // in a frame after the warning
	check.That(t, strings.Contains(m.screen(), "connecting to slow …"), "got\n%s", m.screen())
}
