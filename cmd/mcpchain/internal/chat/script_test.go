package chat

import (
	"encoding/json"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/script"
	"github.com/mcpchain/mcpchain/internal/check"
)

// turns decodes the objects of -json, and checks that they have the members that the help lists.
func turns(t *testing.T, stdout string) (all []script.Turn) {
	t.Helper()
	for line := range strings.Lines(stdout) {
		d := json.NewDecoder(strings.NewReader(line))
		d.DisallowUnknownFields()
		var turn script.Turn
		err := d.Decode(&turn)
		check.Require(t, err == nil, "%v: %s", err, line)
		check.That(t, turn.Duration > 0, "got no duration: %s", line)
		turn.Duration = 0
		for _, c := range turn.Calls {
			c.Duration, c.ID = 0, ""
		}
		all = append(all, turn)
	}
	return all
}

func TestJSON(t *testing.T) {
	t.Parallel()
	o := converse(t, "What is 17 plus 25?\n/tools\n/nonsense\nhello\n", "-json", "-yes")
	got := turns(t, o.stdout)
	check.Require(t, len(got) == 4 && o.status == 1, "got status %d and %s, want four turns", o.status, o.stdout)
	want := script.Turn{
		Answer: "The result: 17 + 25 = 42.", StopReason: "answer", Model: "demo", Usage: got[0].Usage, Problems: []string{},
		Calls: []*script.Call{{Server: "demo", Tool: "add", Arguments: map[string]any{"a": 17.0, "b": 25.0}, Text: "17 + 25 = 42"}},
	}
	diff := cmp.Diff(want, got[0])
	check.That(t, diff == "" && want.Usage.Calls == 2 && want.Usage.Input != 0 && want.Usage.Output != 0, "got %+v, -want +got\n%s", want.Usage, diff)
	check.That(t, got[1].StopReason == "command" && strings.HasPrefix(got[1].Answer, "add (demo) "), "got %+v, want the list of tools", got[1])
	check.That(t, got[2].StopReason == "error" && got[2].Error != nil && *got[2].Error == "no command /nonsense; /help lists them",
		"got %+v, want an error", got[2])
	check.That(t, got[3].StopReason == "answer" && got[3].Error == nil && len(got[3].Calls) == 0, "got %+v, want an answer alone", got[3])
	asked := turns(t, converse(t, "", "-json", "-yes", "-prompt", "Summarize: Go is a language. It is small.").stdout)[0].Usage
	check.That(t, asked.Calls == 2 && asked.Sampling == 1 && asked.SamplingTokens != 0 && asked.SamplingTokens < asked.Input+asked.Output,
		"got the usage %+v, want two calls of the model and a completion for the server", asked)
	for _, member := range []string{`"answer"`, `"stop_reason"`, `"error":null`, `"model"`, `"usage"`, `"calls":[`, `"problems":[`, `"duration_ms"`,
		`"model_calls"`, `"input_tokens"`, `"output_tokens"`, `"cached_tokens"`, `"reasoning_tokens"`, `"sampling_requests"`, `"sampling_tokens"`, `"cost_micros":null`,
		`"server"`, `"tool"`, `"id"`, `"arguments"`, `"denied"`, `"is_error"`, `"text"`} {
		first, _, _ := strings.Cut(o.stdout, "\n")
		check.That(t, strings.Contains(first, member), "the object lacks %s: %s", member, first)
	}
}

// The object has refused questions, and problems before the first turn.
func TestJSONOfProblems(t *testing.T) {
	t.Parallel()
	got := turns(t, converse(t, "", "-json", "-prompt", "What is 17 plus 25?").stdout)
	check.That(t, len(got) == 1 && len(got[0].Calls) == 1 && got[0].Calls[0].Denied && len(got[0].Problems) == 2 && strings.HasPrefix(got[0].Problems[0], "denied demo: tool call add") && strings.HasPrefix(got[0].Problems[1], "mcpchain: 1 call denied"),
		"got %+v, want a call that was denied", got)
	o := converse(t, "", "-json", "-prompt", "hello", "-config", "/nonexistent/\u202emcp.json")
	got = turns(t, o.stdout)
	check.Require(t, len(got) == 1 && got[0].StopReason == "error" && got[0].Error != nil && strings.Contains(*got[0].Error, "no such file") && o.status == 2,
		"got %s, want the missing file", o.stdout)
	check.That(t, !strings.Contains(o.stdout, "\u202e"), "got %q, want nothing that a terminal obeys", o.stdout)
	got = turns(t, converse(t, "", "-json", "-prompt", "hello", "-config", configure(t, "crash", "good")).stdout)
	check.That(t, len(got) == 1 && len(got[0].Problems) == 1 && strings.Contains(got[0].Problems[0], `:2: server "crash": the program "`),
		"got %+v, want the server that is left out", got)
}

// Answers fill in a form. A form that is declined tells which answers it lacks, and which it does not have.
func TestAnswersOfAScript(t *testing.T) {
	t.Parallel()
	book := []string{"-yes", "-answer", "date=2030-05-01", "-answer", "time=19:30", "-answer", "demo/loyalty=7"}
	converse(t, "Book a table for 4\n", book...).check(t, "Booked: a table for 4 inside at Chez Démo on 2030-05-01 at 19:30.\n", 0,
		`→ demo book_table {"people":4}`)
	o := converse(t, "Book a table for 4\n", "-yes", "-answer", "loyalty=7")
	o.check(t, o.stdout, 1, `-answer: no field "loyalty"; the fields are `)
}

// Standard input becomes part of the question, and cannot contain commands.
func TestInputOfPrompt(t *testing.T) {
	t.Parallel()
	converse(t, "Go is a language. It is small.\n\n", "-yes", "-prompt", "Summarize:").check(t, "Summary: Go is a language.\n", 0)
	converse(t, "/quit\n", "-yes", "-prompt", "What is 1 plus 2?").check(t, "The result: 1 + 2 = 3.\n", 0)
	converse(t, "x", "-prompt", "/read demo://menu").check(t, converse(t, "", "-prompt", "/read demo://menu").stdout, 0)
	converse(t, strings.Repeat("x", 1<<20+1), "-prompt", "hello").check(t, "", 1, "mcpchain: read standard input: more than 1048576 bytes")
}

// The program does not wait for an input that stays silent.
func TestSilentInput(t *testing.T) {
	t.Parallel()
	p := start(t, "-yes", "-prompt", "What is 1 plus 2?")
	p.await(p.stderr, "standard input says nothing for 3s, and is left out")
	p.await(p.stdout, "The result: 1 + 2 = 3.")
	p.wait(0)
}

// The program waits for the end of an input that has begun.
func TestSlowInput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		go func() {
			_, _ = io.WriteString(w, "a")
			time.Sleep(time.Hour)
			_, _ = io.WriteString(w, "b")
			_ = w.Close()
		}()
		got, err := readInput(t.Context(), r, time.Second)
		check.That(t, err == nil && string(got) == "ab", "got %q, %v, want all of it", got, err)
		r, w = io.Pipe()
		defer w.Close()
		got, err = readInput(t.Context(), r, time.Second)
		check.That(t, err == errSilent, "got %q, %v, want %v", got, err, errSilent)
	})
}
