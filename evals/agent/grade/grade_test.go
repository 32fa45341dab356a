package grade

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/mcpchain/mcpchain/evals/agent/suite"
	"github.com/mcpchain/mcpchain/internal/check"
)

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	check.That(t, math.Abs(got-want) <= 1e-12, "%s: got %v, want %v", what, got, want)
}

func TestAnswer(t *testing.T) {
	exact, seven := "Ada Lovelace\n", 7.0
	for _, c := range []struct {
		what string
		want suite.Answer
		got  string
		is   float64
	}{
		{"exact", suite.Answer{Exact: &exact}, " Ada Lovelace ", 1},
		{"not exact", suite.Answer{Exact: &exact}, "Ada", 0},
		{"empty", suite.Answer{Exact: new(string)}, "Ada", 0},
		{"one of two patterns", suite.Answer{Regex: []string{"^A", "x$"}}, "Ada", 0.5},
		{"words in any case", suite.Answer{Contains: []string{"not today"}}, "I may: Not today!", 1},
		{"a part of a word", suite.Answer{Contains: []string{"not"}}, "another", 0},
		{"a part of a word, and then the word", suite.Answer{Contains: []string{"not"}}, "another? not", 1},
		{"a part of a number", suite.Answer{Contains: []string{"100"}}, "1000", 0},
		{"a part of a number with a comma", suite.Answer{Contains: []string{"100"}}, "1,100 or 100.5", 0},
		{"a number at the end of a sentence", suite.Answer{Contains: []string{"100"}}, "She has 100.", 1},
		{"a sign at the end", suite.Answer{Contains: []string{"5 %"}}, "5 %x", 1},
		{"lacks", suite.Answer{Lacks: []string{"hund", "Katze"}}, "ein Hündchen, keine Katzen", 0.5},
		{"number", suite.Answer{Number: &seven}, "of 12, only 7", 1},
		{"number at the end of a range", suite.Answer{Number: &seven}, "lanes 5-7", 1},
		{"number below 0", suite.Answer{Number: &seven}, "it is -7", 0},
		{"number within", suite.Answer{Number: &seven, Tolerance: 0.5}, "7.5", 1},
		{"number out of it", suite.Answer{Number: &seven, Tolerance: 0.5}, "7.51", 0},
		{"no number", suite.Answer{Number: &seven}, "seven", 0},
		{"number with commas", suite.Answer{Number: &seven, Tolerance: 999993}, "1,000,000", 1},
		{"set", suite.Answer{Set: []string{"b.csv", "a.csv"}}, "- A.csv\n- b.csv.", 1},
		{"set with more", suite.Answer{Set: []string{"a"}}, "a, b", 0},
		{"JSON in a fence", suite.Answer{JSON: []suite.Member{{Pointer: "/a/0/b~1c", Equals: []byte("[1]")}, {Pointer: "/x", Equals: []byte("1")}}}, "```json\n{\"a\":[{\"b/c\":[1]}]}\n```", 0.5},
		{"no JSON", suite.Answer{JSON: []suite.Member{{Pointer: "", Equals: []byte("null")}}}, "none", 0},
	} {
		got := answer(&c.want, c.got)
		near(t, c.what, got.Value, c.is)
		check.That(t, (got.Why == "") == (got.Value == 1), "%s: got the reason %q with %v", c.what, got.Why, got.Value)
	}
}

// An agent that replaces a file by something else fails; the grader can still decide.
func TestState(t *testing.T) {
	dir := t.TempDir()
	for _, err := range []error{
		os.WriteFile(filepath.Join(dir, "a.json"), []byte(`{"n":[1,2],"t~":"x"}`), 0o600),
		os.WriteFile(filepath.Join(dir, "file"), []byte("text"), 0o600),
		os.Mkdir(filepath.Join(dir, "dir"), 0o700),
		os.Symlink("/", filepath.Join(dir, "out")),
	} {
		check.Must(t, err)
	}
	text, n, tilde, root := "text", "/n/1", "/t~0", ""
	for _, c := range []struct {
		what string
		want suite.State
		is   float64
	}{
		{"exists", suite.State{File: "file"}, 1},
		{"missing", suite.State{File: "none"}, 0},
		{"absent", suite.State{File: "none", Absent: true}, 1},
		{"not absent", suite.State{File: "file", Absent: true}, 0},
		{"absent below a file", suite.State{File: "file/x", Absent: true}, 1},
		{"below a file", suite.State{File: "file/x", Text: &text}, 0},
		{"a directory", suite.State{File: "dir", Text: &text}, 0},
		{"a directory is not absent", suite.State{File: "dir", Absent: true}, 0},
		{"a way out", suite.State{File: "out/etc/hostname"}, 0},
		{"text", suite.State{File: "file", Text: &text}, 1},
		{"match", suite.State{File: "file", Match: "^te"}, 1},
		{"no match", suite.State{File: "file", Match: "^x"}, 0},
		{"pointer", suite.State{File: "a.json", Pointer: &n, Equals: []byte("2.0")}, 1},
		{"pointer with a tilde", suite.State{File: "a.json", Pointer: &tilde, Equals: []byte(`"x"`)}, 1},
		{"the whole", suite.State{File: "a.json", Pointer: &root, Equals: []byte(`{"n":[1]}`)}, 0},
		{"no JSON", suite.State{File: "file", Pointer: &root, Equals: []byte(`"text"`)}, 0},
	} {
		got, err := state([]suite.State{c.want}, dir)
		check.NoError(t, err, c.what)
		near(t, c.what, got.Value, c.is)
	}
	check.Fails(t, check.Err(state([]suite.State{{File: "a"}}, filepath.Join(dir, "gone"))), "the directory of the trial is gone, and the grader can tell")
}
