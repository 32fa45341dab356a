package kept_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/kept"
)

const one, two = "r0000000000000001", "r0000000000000002"

func results(handle string) ([]byte, error) {
	switch handle {
	case one:
		return []byte(data), nil
	case two:
		return []byte("two\nlines"), nil
	}
	return nil, errors.New("there is none")
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

func TestFill(t *testing.T) {
	for name, tt := range map[string]struct{ in, shown, sent string }{
		"none": {`{"a": 1.0}`, `{"a": 1.0}`, `{"a": 1.0}`},
		"a text": {
			`{"to":"x","content":{"$result":"` + two + `"},"n":1e2}`,
			`{"to":"x","content":{"$result":"` + two + `","size":9,"kind":"text","shape":"2 lines","sha256":"` + digest("two\nlines") + `"},"n":1e2}`,
			`{"to":"x","content":"two\nlines","n":1e2}`,
		},
		"a value in a list": {
			`{"a":[{"$result":"` + one + `","pointer":"/items/1"},2]}`,
			`{"a":[{"$result":"` + one + `","pointer":"/items/1","size":29,"kind":"json","shape":"{\"id\":string,\"n\":number,\"tags\":[1 strings]}","sha256":"` + digest(`{"id":"b","n":2,"tags":["z"]}`) + `"},2]}`,
			`{"a":[{"id":"b","n":2,"tags":["z"]},2]}`,
		},
		"what only looks so":      {`{"a":{"$result":"x"},"b":{"$result":"` + one + `","also":1}}`, `{"a":{"$result":"x"},"b":{"$result":"` + one + `","also":1}}`, `{"a":{"$result":"x"},"b":{"$result":"` + one + `","also":1}}`},
		"none of that name":       {`{"a":{"$result":"r0000000000000003"}}`, "", "error: there is none"},
		"no such value":           {`{"a":{"$result":"` + one + `","pointer":"/b"}}`, "", `error: result "` + one + `": there is no "/b": at "" is an object with ["items" "next"]`},
		"another than was shown":  {`{"a":{"$result":"` + two + `","sha256":"00"}}`, "", `is not the one that the arguments name`},
		"no JSON":                 {`{"a":{"$result":"` + two + `"}`, "", "error: arguments with a reference have to be one JSON object"},
		"more than are filled in": {`[` + strings.Repeat(`{"$result":"`+two+`"},`, 101) + `0]`, "", "error: arguments have more than 100 references"},
	} {
		shown, sent, err := kept.Fill([]byte(tt.in), results)
		got := string(sent)
		if err != nil {
			got = "error: " + err.Error()
		}
		if strings.HasPrefix(name, "another") {
			check.That(t, err != nil && strings.Contains(got, tt.sent), "%s: got %s", name, got)
			continue
		}
		check.That(t, got == tt.sent && (err != nil || string(shown) == tt.shown),
			"%s: got\n%s\n%s\nwant\n%s\n%s", name, shown, got, tt.shown, tt.sent)
		if err != nil {
			continue
		}
		again, sent, err := kept.Fill(shown, results)
		check.That(t, err == nil && string(again) == string(shown) && string(sent) == tt.sent,
			"%s: filled again: got %s, %s, %v", name, again, sent, err)
	}
}
