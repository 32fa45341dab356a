package mcpchain

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write docs/what-it-does.md")

// promises are the features in the words of people who use them, with the rows of docs/features.md that
// prove them. A promise is kept if none of its rows is open.
var promises = []struct {
	chapter   string
	sentences []promise
}{
	{"Servers of any kind", []promise{
		{"Reaches servers that are programs, URLs, or in the same process", "A1 A2 A3 A4 A5 A6 A7 B5a"},
		{"Speaks every published revision of the protocol, and finds out which one a server speaks", "A8 A9 A10 B5 B17"},
		{"Shows what a server is and can do, and asks it for nothing that it does not have", "A11 A12 A25"},
		{"Reads the mcp.json of Claude Desktop, VS Code, Cursor and others as it is", "E16"},
		{"Starts a server again that died, and says why it died", "A23 A13"},
		{"Goes on after a lost session, a cut stream or a busy server, without a call made twice", "A17 A18 A20 A19"},
		{"Signs in to servers that want it, keeps the tokens, and renews them", "A14 D1 D2 D3 D5 D6 D7"},
		{"Signs in services without a person: client credentials, enterprise, workload identity, DPoP", "D4 D8 D9 D10 D11"},
		{"Sends no secret to a stranger, and lets no server lead it into your network", "D12"},
	}},
	{"Tools, prompts and resources", []promise{
		{"Calls tools with progress, timeouts and a way to cancel", "B2 B9 B11"},
		{"Lists tools, prompts, resources and templates of any length, and hears of changes", "B1 B6 B7 A15"},
		{"Checks what tools return by their schema", "B3 B16"},
		{"Keeps every kind of content: text, pictures, sounds, links, and kinds that do not exist yet", "B15"},
		{"Runs tools that take long as tasks, also across a restart", "B13 E18"},
		{"Reads the skills of servers, verified", "B14 G19"},
		{"Takes logs, and messages of your own in both directions", "B8 B10"},
		{"Sets the headers that a server asks for by its tools", "B4"},
		{"Puts your code around every request", "A21 A24 E13"},
	}},
	{"What servers ask", []promise{
		{"Brings a server's question to a person, as a form or a page to visit, and checks the answer", "C2 C3 B12"},
		{"Lets servers use a model, within your budget, and shows you each request if you like", "C1 F1 F4 F5 F7 F8 F9"},
		{"Works with any OpenAI-compatible host, and chooses among your models", "F2 F3"},
		{"Writes down who asked for what, and what it cost", "F6"},
		{"Says which server asks, and during which call", "C4 C5"},
		{"Cannot be flooded: everything that a server controls has a bound", "C6 A16 A22"},
	}},
	{"Tools for a model", []promise{
		{"Gives a model the tools of many servers, under names that every provider takes", "E1 E5 E6 E8"},
		{"Writes schemas as each provider wants them, and lists what is lost by that", "E7 G17"},
		{"Repairs arguments that are nearly right, and tells the model what is wrong with others", "E2"},
		{"Gives the model results that it can read, and never too much of them", "E3 E4 E12"},
		{"Asks a person before a tool acts, and remembers the decision", "E9 G16"},
		{"Refuses a tool that changed since it was offered, approved or pinned", "E10 E11 E15"},
		{"Recognizes a call that is made again", "E17"},
		{"Takes your own Go functions, and tools, prompts and documents of langchaingo", "E14 E19 G13"},
	}},
	{"Agents", []promise{
		{"Runs a model with tools until it has an answer, and tells you every step", "G1 G3"},
		{"Works with any model of langchaingo", "G2 G11"},
		{"Waits for a person for days: the run is kept, and any process goes on with the answer", "G5 G15"},
		{"Survives its process: what was done is not done again, and what is unknown is said", "G14"},
		{"Stops at limits of turns, tokens, cost and time, with sub-agents and servers counted in", "G6 G18"},
		{"Answers with a Go value", "G7"},
		{"Keeps conversations, and makes long ones shorter", "G8"},
		{"Lets agents work for each other, or take over", "G10"},
		{"Lets your code see and change each step", "G9 G4"},
		{"Reports traces and metrics to OpenTelemetry", "G12"},
	}},
	{"Programs", []promise{
		{"A chatbot for the terminal, for people and for scripts", "H1 H5 H7 H8 H9 H12"},
		{"A page for several people", "H6"},
		{"A page that signs each person in to the servers that want it", "H10"},
		{"An HTTP service for many users, on one machine or on many", "H11"},
		{"A doctor for mcp.json, and small programs to learn from", "H2 H3"},
		{"Tests of agents and servers: conformance, other SDKs, speed, kills, suites of your own", "H4"},
	}},
	{"Views of tools (MCP Apps)", []promise{
		{"Loads views, runs them in a sandbox, and talks with them", "J1 J2 J3"},
		{"Shows views in the programs", "J4"},
	}},
}

type promise struct{ text, rows string }

// TestPromises writes docs/what-it-does.md from the promises and the table of proofs, with -update, and
// otherwise holds the page against them. Each row of the table belongs to a promise.
func TestPromises(t *testing.T) {
	open := openRows(t)
	var page, later strings.Builder
	page.WriteString("# What it does\n\nEach line is held by tests: the letters lead to rows of [features.md](features.md), which name them.\n")
	for _, chapter := range promises {
		fmt.Fprintf(&page, "\n## %s\n\n", chapter.chapter)
		for _, p := range chapter.sentences {
			to := &page
			for _, row := range strings.Fields(p.rows) {
				missing, known := open[row]
				if !known {
					t.Errorf("%q: docs/features.md has no row %s that is not in another promise", p.text, row)
				}
				if delete(open, row); missing {
					to = &later
				}
			}
			fmt.Fprintf(to, "- %s (%s)\n", p.text, strings.ReplaceAll(p.rows, " ", ", "))
		}
	}
	if len(open) > 0 {
		t.Errorf("no promise in promises_test.go has the rows %v: add each to a sentence, then go test -run TestPromises -update .", slices.Sorted(maps.Keys(open)))
	}
	if later.Len() > 0 {
		page.WriteString("\n## Not yet\n\n" + later.String())
	}
	const path = "docs/what-it-does.md"
	if *update {
		if err := os.WriteFile(path, []byte(page.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got := read(t, path); got != page.String() {
		t.Errorf("%s is not what the table says; write it by: go test -run TestPromises -update .", path)
	}
}

// openRows lists the rows of docs/features.md, and says which ones are open.
func openRows(t *testing.T) map[string]bool {
	rows := map[string]bool{}
	for line := range strings.Lines(read(t, "docs/features.md")) {
		cells := strings.Split(strings.Trim(line, "|\n"), "|")
		if id := strings.TrimSpace(cells[0]); len(cells) == 4 && len(id) > 1 && strings.Contains("ABCDEFGHJ", id[:1]) && id[1] >= '1' && id[1] <= '9' {
			rows[id] = strings.HasPrefix(strings.TrimSpace(cells[3]), "open")
		}
	}
	return rows
}
