package talk

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A value ends at the next key. Quotes around a value are removed, and allow keys in it.
func TestPromptArguments(t *testing.T) {
	for typed, want := range map[string]map[string]string{
		`city=Oslo people=2`:       {"city": "Oslo", "people": "2"},
		`city=New York people=2`:   {"city": "New York", "people": "2"},
		`city="New York" people=2`: {"city": "New York", "people": "2"},
		`q="a=b and c=d" n=1`:      {"q": "a=b and c=d", "n": "1"},
		`q="" n="1"`:               {"q": "", "n": "1"},
		`q="a" or "b"`:             {"q": `"a" or "b"`},
		`height=5" width=3`:        {"height": `5"`, "width": "3"},
		`q="open n=1`:              {"q": `"open`, "n": "1"},
		`a="x" b="y z"`:            {"a": "x", "b": "y z"},
		`sum=a = b`:                {"sum": "a = b"},
	} {
		got, err := promptArguments(strings.Fields(typed))
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v, -want +got\n%s", typed, err, diff)
		}
	}
	if _, err := promptArguments([]string{"Oslo"}); err == nil || err.Error() != "want key=value, got Oslo" {
		t.Errorf("got %v", err)
	}
}
