package chat

import (
	"fmt"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/internal/testenv"
	"github.com/mcpchain/mcpchain/internal/testenv/fakehost"
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
	m.leave()
	if strings.Contains(m.whole, "\x1b") || !strings.Contains(m.whole, "connecting to demo …\r\n") {
		t.Errorf("a terminal without escape sequences got %q", m.whole)
	}

	var got []string
	for _, r := range readTrace(t, path) {
		switch r["type"] {
		case "approval_decided":
			got = append(got, fmt.Sprint(r["tool"], " ", at(r, "decision", "allow")))
		case "answer_end":
			got = append(got, fmt.Sprint(at(r, "ask", "tool"), " ", at(r, "answer", "action")))
		}
	}
	for _, want := range []string{"add false", "summarize true", "book_table accept"} {
		if !slices.Contains(got, want) {
			t.Errorf("trace: got %q, want %q in it", got, want)
		}
	}
}

// Lines that are typed while the model works approve nothing.
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
	if strings.Contains(m.whole, "\x1b") {
		t.Errorf("a terminal without escape sequences got %q", m.whole)
	}

	m = openPlain(t)
	m.enter("you › ", ctrlC)
	m.enter("press Ctrl-C again, or Ctrl-D, to leave", ctrlC)
	m.ended(130)
}

// Before the conversation, one Ctrl-C ends the program.
func TestInterruptWhileConnecting(t *testing.T) {
	t.Parallel()
	m := openPlain(t, "-config", configure(t, "slow=mute"))
	m.enter("connecting to slow …", ctrlC)
	m.ended(130)
	if strings.Contains(m.screen, "again") {
		t.Errorf("it is said that Ctrl-C must be repeated: %q", m.screen)
	}
}

// TestServerOfTheGoSDK calls tools of the official Go SDK's example server that ask the model and
// the person. The server asks as in an older revision than it speaks, so the first call is in
// doubt. After a kill the server is started again.
func TestServerOfTheGoSDK(t *testing.T) {
	t.Parallel()
	program := filepath.Join(t.TempDir(), "everything")
	build := exec.Command("go", "build", "-o", program, "github.com/modelcontextprotocol/go-sdk/examples/server/everything")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the server: %v\n%s", err, out)
	}
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
	m.enter("you ›", "Try sample and elicit (form)\n")
	m.enter("Allow it?", "y\n")
	m.await("an older revision of the protocol: it is connected with 2025-11-25")
	m.await("may have acted before it asked")
	m.enter("Allow it?", "y\n")
	m.enter("Allow it, with its reply?", "y\n")
	m.await("← everything sample: A text for the server.")
	m.enter("Allow it?", "y\n")
	m.enter("random", "words\n")
	m.enter("Send this to everything?", "y\n")
	m.await("words")
	m.await("Both have worked.")
	if n := testenv.KillChildren(t, program); n == 0 {
		t.Fatalf("%s does not run", program)
	}
	m.await("everything is back")
	m.enter("you ›", "Once more\n")
	m.enter("Allow it?", "y\n")
	m.await("← everything greet: Hi again")
	m.await("It is back.")
	m.leave()
	if bad := host.Invalid(); len(bad) > 0 {
		t.Errorf("the host refused %q", bad)
	}
}
