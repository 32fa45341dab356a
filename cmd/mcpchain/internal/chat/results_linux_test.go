package chat

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hinshun/vt10x"

	"github.com/mcpchain/mcpchain/internal/check"
)

// An edit is shown as a diff in the approval.
func TestEditOnScreen(t *testing.T) {
	t.Parallel()
	m := openScreenOf(t, here(t, []string{"workshop"}))
	m.ask(`call edit_file {"path":"a.go","old_string":"func main() {\n\tprintln(1)\n}","new_string":"func main() {\n\tprintln(2)\n\tprintln(\"\u001b[2J\")\n}"}`, "Allow it?  [y]es")
	m.golden("diff")
	m.typed("y")
	m.golden("edited")
	m.leave()
}

// A long result is cut to a line, and shown on demand.
func TestShow(t *testing.T) {
	t.Parallel()
	cmd := here(t, []string{"workshop"}, "-yes")
	m := openScreenOf(t, cmd)
	m.ask("/show", "no tool was called yet", "call lines", "(/show has more)", "What is 1 plus 2?", "1 + 2 = 3")
	m.ask("/show 2", `line 120\x1b[2J`)
	m.goldenEnd("show", 34)
	m.atTheBottom()
	m.ask("/show 3", "no result 3; there are 2, and 1 is the newest")
	m.leave()
	o := converse(t, "call lines\n/show\n", "-config", filepath.Join(cmd.Dir, "servers.json"), "-yes")
	check.That(t, o.status == 0 && strings.Contains(o.stdout, `line 119\x1b[2J`+"\n"+`line 120\x1b[2J`+"\n"),
		"got status %d and %q, want the whole result", o.status, o.stdout)
}

// A paragraph almost as long as the screen is printed completely, above the prompt in the last rows.
func TestLongParagraph(t *testing.T) {
	t.Parallel()
	m := openScreenSized(t, 80, 40, here(t, []string{"workshop"}, "-yes"))
	m.ask("call lines", "bot ›")
	m.await("you ›\n")
	m.goldenEnd("paragraph", 33)
	m.atTheBottom()
	m.leave()
}

// A picture is saved. No bytes of the server's file reach the terminal.
func TestPictures(t *testing.T) {
	t.Parallel()
	m := openScreenOf(t, here(t, []string{"workshop"}, "-yes"))
	m.ask("call paint", "bot ›")
	m.await("you ›\n")
	m.golden("saved")
	m.leave()
	files, err := filepath.Glob(filepath.Join(m.home(), ".config/mcpchain/chatbot/media/*-workshop-paint.png"))
	check.Require(t, err == nil && len(files) == 1, "got %v, %v, want a file", files, err)
	data := check.Value(os.ReadFile(files[0]))(t)
	tail := data[len(data)-22:]
	check.That(t, !bytes.Contains(m.whole, tail) && !bytes.Contains(m.whole, []byte(base64.StdEncoding.EncodeToString(data))), "the server's file went to the terminal")
}

// Concurrent calls have a line each, and all fits into a window that becomes narrower.
func TestProgressOnScreen(t *testing.T) {
	t.Parallel()
	m := openScreenOf(t, here(t, []string{"workshop", "workshop2=workshop"}, together(t)...))
	m.ask("Go both ways", "5/10 two")
	m.await("5/10 one")
	m.golden("progress")
	resize(t, m.file, 60, 60)
	m.typed("a text that is longer than sixty columns and so takes two rows", "takes\n      two rows")
	m.vt.Resize(60, 60) // what was drawn for the wider screen has been read
	m.golden("resized")
	m.typed(ctrlC+ctrlC, "interrupted")
	m.leave()
}

// A program that was killed during a call continues the turn. The call is not repeated, and the model is told that it
// may have run.
func TestContinueInACall(t *testing.T) {
	t.Parallel()
	cmd := here(t, []string{"workshop"}, "-yes")
	m := openScreenOf(t, cmd)
	m.ask(`call hold {"of":"the way"}`, "5/10 the way")
	m.kill()
	next := again(t, cmd)
	next.Args = append(next.Args, "-continue")
	m = openScreenOf(t, next)
	m.await("bot ›")
	m.golden("continued-call")
	m.leave()
}

// The commands show servers and tools.
func TestServersAndToolsOnScreen(t *testing.T) {
	t.Parallel()
	m := openScreenOf(t, here(t, []string{"workshop", "crash"}))
	m.ask("/servers", "workshop (stdio", "/tool hold", "The server claims")
	m.golden("servers")
	m.leave()
}

// The text about a tool is cut, so that most tools take one row of the list.
func TestToolsOnScreen(t *testing.T) {
	t.Parallel()
	m := openScreen(t)
	m.ask("/tools", "weather (demo)")
	m.golden("tools")
	m.leave()
}

// Sounds and other files are saved with an extension for their content.
func TestSounds(t *testing.T) {
	t.Parallel()
	m := openScreenOf(t, here(t, []string{"workshop"}, "-yes"))
	m.ask("call sounds", "saved, 12 B:")
	m.await("workshop-sounds.wav")
	m.leave()
	check.That(t, !bytes.Contains(m.whole, []byte("<script>")), "got %q, want no file", m.whole)
}

// The person opens a page, and says when it is done.
func TestPageOnScreen(t *testing.T) {
	t.Parallel()
	m := openScreenOf(t, here(t, []string{"page"}, "-yes"))
	m.enter("you ›", "call visit\r", "[y]es", "y", "[d]one")
	m.golden("url")
	m.typed("d", "the answer: accept")
	m.leave()
}

// A page that a server's error asks for is handled in the same way. Then the call is repeated.
func TestPageOfAnErrorOnScreen(t *testing.T) {
	t.Parallel()
	m := openScreenOf(t, here(t, []string{"page"}, "-yes", "-revision", "2025-11-25"))
	m.enter("you ›", "call contract\r", "[y]es", "y", "[d]one", "d", "it is signed")
	m.leave()
}

// The person sees a server's request to the model, and the reply before the server gets it.
func TestSamplingOnScreen(t *testing.T) {
	t.Parallel()
	m := openScreen(t)
	m.enter("you ›", "Summarize: Go is small. It is fun.\r", "Allow it?  [y]es", "y", "with its reply?  [y]es", "s")
	m.await("would get this reply", "Allow it?  [y]es")
	m.golden("sampling")
	m.typed("y", "Summary: Go is small.")
	m.leave()
}

// Questions fit into 60 columns.
func TestNarrow(t *testing.T) {
	t.Parallel()
	m := openScreenSized(t, 60, 60, command(t))
	m.ask("Book a table for 4 at The Restaurant At The End Of The Universe", "Allow it?  [y]es")
	m.golden("narrow-approval")
	m.typed("y", "Enter continues")
	m.golden("narrow-form")
	m.typed(esc, "[b]ack", "n", "No table was booked")
	m.leave()
}

// Tables and tabs keep their shape in 60 columns.
func TestNarrowMarkdown(t *testing.T) {
	t.Parallel()
	cmd := command(t, answering(t,
		"| Name | Size | Modified |\n|---|---:|---|\n| main.go | 4076 | yesterday in the evening |\n| a-very-long-file-name-indeed.go | 1 | today |\n\n```\na\tb\tc\n\tindented\n```\nDone.\n")...)
	m := openScreenSized(t, 60, 60, cmd)
	m.ask("Show me", "Done.")
	m.golden("narrow-markdown")
	m.leave()
}

// The end of a server's process is reported once, and so is its return.
func TestDeathOnScreen(t *testing.T) {
	t.Parallel()
	m := openScreenOf(t, here(t, []string{"vanish"}, "-yes"))
	m.ask("call vanish", "the server vanish is back", "/servers", "ready, revision")
	unbroken := strings.Join(strings.Fields(m.screen()), " ")
	for want, n := range map[string]int{
		`lost the server vanish, and start it again: the program "/proc/self/exe" came to its end: exit status 9; it wrote to stderr: out of memory`: 1,
		"exit status 9": 2, "out of memory": 2, "✗ vanish vanish: ": 1, "is back": 1, "warning": 0,
	} {
		check.That(t, strings.Count(unbroken, want) == n, "want %q %d times:\n%s", want, n, m.screen())
	}
	m.leave()
}

// A result of 10 MiB takes a line or two, and the conversation continues.
func TestBigResult(t *testing.T) {
	t.Parallel()
	m := openScreenOf(t, here(t, []string{"big"}, "-yes"))
	m.enter("you ›", "call big\r")
	m.until("the result is there", func(string) bool { return strings.Contains(string(m.whole), "← big big:") })
	m.ask("What is 1 plus 2?", "The result: 1 + 2 = 3.")
	m.leave()
}

// Three of eight servers work. The screen says why the others do not.
func TestManyServers(t *testing.T) {
	t.Parallel()
	cmd := here(t, []string{
		"crash", `missing=!{"command": "no-such-program"}`, `nowhere=!{"url": "http://127.0.0.1:1/mcp"}`, "thirteen", "thirteen2=thirteen", "thirteen3=thirteen",
		`token=!{"url": "https://example.com/mcp", "headers": {"Authorization": "Bearer ${NO_SUCH_TOKEN}"}}`, `typo=!{"comand": "x"}`,
	}, "-yes")
	m := openScreenOf(t, cmd)
	m.golden("many")
	m.typed("/tools extra_5\r", "thirteen3__extra_5 (thirteen3)")
	m.ask("call thirteen2__extra_0", "← thirteen2 extra_0: extra")
	m.leave()
}

// Reasoning is summed up in a line, and shown on demand.
func TestReasoningOnScreen(t *testing.T) {
	t.Parallel()
	args := streaming(t, `{"reasoning_content":"First I add.\nThen "}`, `{"reasoning_content":"I stop.\u001b[2J"}`, `{"content":"It is 42."}`)
	m := openScreen(t, args...)
	m.ask("How much?", "It is 42.", "/reasoning", `Then I stop.\x1b[2J`)
	m.golden("reasoning")
	m.leave()
	converse(t, "/reasoning\nHow much?\n/reasoning\n", args...).check(t, "It is 42.\n  First I add.\n  Then I stop.\\x1b[2J\n", 1,
		"error: the last answer came without reasoning\n")
}

// The person is asked for missing arguments of a prompt.
func TestPromptAsksForArguments(t *testing.T) {
	t.Parallel()
	m := openScreen(t)
	m.ask("/prompt evening", "The prompt evening of the server demo takes these arguments:")
	m.await("┃ city")
	m.enter("Enter continues", "Oslo\r", "┃ people", "\r", "Send this to demo?  [y]es", "y", "What is the weather in Oslo?")
	m.enter("Allow it?  [y]es", ctrlC, "interrupted")
	m.leave()
	p := openPlain(t)
	p.enter("you › ", "/prompt evening\n", "city (where to go out):", "Lima\n", "[nothing]:", "3\n", "[c]ancel: ", "y\n")
	p.await("What is the weather in Lima? Then book a table for 3.")
	p.enter("[?]: ", ctrlC)
	p.leave()
}

// Failures of Claude's API are told like those of others.
func TestFailuresOfClaude(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Retry-After", "20")
		status := http.StatusNotFound
		if body, _ := io.ReadAll(r.Body); strings.Contains(string(body), "busy") {
			status = http.StatusTooManyRequests
		}
		w.WriteHeader(status)
	}))
	defer server.Close()
	model := func(name string) []string {
		return []string{"-config", "none", "-model", name, "-models",
			write(t, "models.json", `{"models": {"`+name+`": {"api": "messages", "baseUrl": "`+server.URL+`", "model": "`+name+`", "apiKey": "k"}}}`)}
	}
	o := converse(t, "", append(model("gone"), "-prompt", "one")...)
	o.check(t, "", 1, "error: messages at ", ": HTTP status 404", "; the base URL is "+server.URL+"\n")
	m := openScreen(t, model("busy")...)
	m.enter("you ›", "hello\r", "429 Too Many Requests, again in ", ctrlC, "interrupted")
	m.leave()
}

// TestPicture holds the picture of the README against a conversation. With -update it is drawn again.
func TestPicture(t *testing.T) {
	t.Parallel()
	cmd := command(t)
	cmd.Env = append(cmd.Env, "NO_COLOR=")
	m := openScreenOf(t, cmd)
	m.enter("you ›", "How is the weather in Oslo?\r", "[y]es", "a", "The tool weather says")
	m.enter("you ›\n", "Book a table for 4\r", "[y]es", "y", "Enter continues", "2030-02-30\r", "want a day of", ctrlC)
	m.until("the field is empty", func(s string) bool { return !strings.Contains(s, "2030-02-30") })
	m.typed("2030-05-01\r", "┃ Time", "19:30\r")
	for _, field := range []string{"Number", "Where", "With children", "Note"} {
		m.enter("┃ "+field, "\r")
	}
	m.enter("Send this to demo?  [y]es", "y", "Booked: a table")
	m.await("you ›\n")
	path := filepath.Join("..", "..", "..", "..", "docs", "chatbot.svg")
	if *update {
		put(t, path, string(m.picture()), 0o600)
	}
	want := check.Value(os.ReadFile(path))(t)
	m.until("the screen is that of "+path, func(string) bool { return bytes.Equal(m.picture(), want) })
	m.leave()
}

const cellWidth, cellHeight = 8.4, 18

func (m *emulator) picture() []byte {
	m.vt.Lock()
	defer m.vt.Unlock()
	columns, _ := m.vt.Size()
	rows := m.vt.Cursor().Y + 1
	width, height := float64(columns)*cellWidth+32, rows*cellHeight+52
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%d" viewBox="0 0 %.0f %d" role="img">`+"\n", width, height, width, height)
	fmt.Fprintln(&b, `<title>The chatbot: sums and the weather after an approval, and a form of a server</title>`)
	fmt.Fprintf(&b, `<rect width="100%%" height="100%%" rx="8" fill="#16181d"/>`+"\n")
	for i, dot := range []string{"#ff5f57", "#febc2e", "#28c840"} {
		fmt.Fprintf(&b, `<circle cx="%d" cy="18" r="5" fill="%s"/>`+"\n", 20+18*i, dot)
	}
	fmt.Fprintln(&b, `<g font-family="ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="14">`)
	for y := range rows {
		for x := 0; x < columns; {
			first := m.vt.Cell(x, y)
			text, from := "", x
			for ; x < columns; x++ {
				c := m.vt.Cell(x, y)
				if c.FG != first.FG || c.Mode != first.Mode {
					break
				}
				text += string(max(c.Char, ' '))
			}
			if text = strings.TrimRight(text, " "); text != "" {
				text = strings.ReplaceAll(text, " ", "\u00a0") // browsers drop other spaces at the beginning, and stretch the rest
				fmt.Fprintf(&b, `<text x="%.1f" y="%d" textLength="%.1f" fill="%s"%s>%s</text>`+"\n", 16+float64(from)*cellWidth, 48+y*cellHeight,
					float64(len([]rune(text)))*cellWidth, colour(first.FG), weight(first), html.EscapeString(text))
			}
		}
	}
	b.WriteString("</g>\n</svg>\n")
	return b.Bytes()
}

// palette is the 16 colours of terminals.
var palette = strings.Fields("#3b4048 #e06c75 #98c379 #e5c07b #61afef #c678dd #56b6c2 #c8ccd4 #7f848e #e06c75 #98c379 #e5c07b #61afef #c678dd #56b6c2 #ffffff")

func colour(c vt10x.Color) string {
	if int(c) < len(palette) {
		return palette[c]
	}
	return "#c8ccd4"
}

func weight(g vt10x.Glyph) string {
	if g.Mode&4 != 0 {
		return ` font-weight="bold"`
	}
	return ""
}
