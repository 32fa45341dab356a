package oauth

import (
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpchain/mcpchain/internal/check"
)

func TestParseChallenges(t *testing.T) {
	type p = map[string]string
	for _, tt := range []struct {
		fields []string
		want   []challenge
	}{
		{nil, nil},
		{[]string{""}, nil},
		{[]string{"Bearer"}, []challenge{{"bearer", p{}}}},
		{[]string{`Bearer realm="a, b", Error=invalid_token`}, []challenge{{"bearer", p{"realm": "a, b", "error": "invalid_token"}}}},
		{[]string{`Basic realm="x", Bearer scope="a b", resource_metadata="https://h/p"`}, []challenge{
			{"basic", p{"realm": "x"}}, {"bearer", p{"scope": "a b", "resource_metadata": "https://h/p"}}}},
		{[]string{`Negotiate dGVzdA==, DPoP algs="ES256", Bearer`}, []challenge{{"negotiate", p{}}, {"dpop", p{"algs": "ES256"}}, {"bearer", p{}}}},
		{[]string{"Basic", "Bearer a=1"}, []challenge{{"basic", p{}}, {"bearer", p{"a": "1"}}}},
		{[]string{`Bearer a="x\"y\\" , b = 2`}, []challenge{{"bearer", p{"a": `x"y\`, "b": "2"}}}},
		{[]string{"Bearer a=1, a=2"}, []challenge{{"bearer", p{"a": "1"}}}},
		{[]string{`Bearer a="open`}, []challenge{{"bearer", p{}}}},
		{[]string{`Bearer a=1, b="open, Basic realm="x"`}, []challenge{{"bearer", p{"a": "1", "b": "open, Basic realm="}}}},
		{[]string{", ,Bearer ,a=1"}, []challenge{{"bearer", p{"a": "1"}}}},
		{[]string{`@`}, nil},
	} {
		check.Same(t, tt.fields, parseChallenges(tt.fields), tt.want, cmp.AllowUnexported(challenge{}))
	}
}

func TestParseChallengesIsBounded(t *testing.T) {
	check.Equal(t, "challenges", len(parseChallenges([]string{strings.Repeat("Bearer, ", 1000)})), maxChallenges)
	got := parseChallenges([]string{"Bearer a=" + strings.Repeat("x", maxChallengeHeader)})
	check.That(t, got == nil, "got %d challenges of a header over the bound, want none", len(got))
	var many strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&many, "p%d=1,", i)
	}
	check.Equal(t, "parameters", len(parseChallenges([]string{"Bearer " + many.String()})[0].params), maxChallengeParams)
}

// written is a challenge in a server's form.
func written(c challenge) string {
	var params []string
	for name, value := range c.params {
		params = append(params, name+`="`+strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(value)+`"`)
	}
	slices.Sort(params)
	return strings.TrimSpace(c.scheme + " " + strings.Join(params, ", "))
}

func FuzzParseChallenges(f *testing.F) {
	for _, seed := range []string{"Bearer", `Bearer a="b\"", Basic x==, DPoP algs="ES256 ES384"`, `a b=c, d e="`, "Negotiate a/b+c==", ",,,"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, field string) {
		found := parseChallenges([]string{field, "Bearer x=1"})
		var again []string
		for _, c := range found {
			again = append(again, written(c))
		}
		// Written again in one field, the challenges are the same, if each has parameters and the field is within the bound.
		one := strings.Join(again, ", ")
		diff := cmp.Diff(parseChallenges([]string{one}), found, cmp.AllowUnexported(challenge{}))
		check.That(t, len(one) > maxChallengeHeader || diff == "", "%q, written %q: got -, want +:\n%s", field, one, diff)
		for _, c := range found {
			check.That(t, c.scheme != "" && c.scheme == strings.ToLower(c.scheme) && !strings.ContainsAny(c.scheme, " ,=\""), "%q: scheme %q", field, c.scheme)
			for name := range c.params {
				check.That(t, name != "" && name == strings.ToLower(name), "%q: parameter %q", field, name)
			}
		}
		parseDemand(http.Header{"Www-Authenticate": {field}}, true)
	})
}

func TestDemandOf(t *testing.T) {
	for _, tt := range []struct {
		fields []string
		dpop   bool
		want   *demand
		ours   bool
	}{
		{nil, false, &demand{}, true},
		{[]string{`Basic realm="x"`}, false, &demand{}, false},
		{[]string{`Basic realm="x"`, `Bearer scope="b a b", error="invalid_token"`}, false, &demand{scheme: "bearer", code: "invalid_token", scopes: []string{"b", "a"}}, true},
		{[]string{`Bearer scope="a"`, `Bearer resource_metadata="https://h"`}, false, &demand{scheme: "bearer", metadata: "https://h"}, true},
		{[]string{`Bearer scope="a", DPoP algs="ES256", resource_metadata="https://h"`}, false, &demand{scheme: "bearer", metadata: "https://h", scopes: []string{"a"}}, true},
		{[]string{`Bearer scope="a", DPoP scope="d"`}, true, &demand{scheme: "dpop", scopes: []string{"d"}}, true},
	} {
		got, ours := parseDemand(http.Header{"Www-Authenticate": tt.fields}, tt.dpop)
		check.That(t, ours == tt.ours && reflect.DeepEqual(got, tt.want), "%q: got %+v, %v, want %+v, %v", tt.fields, got, ours, tt.want, tt.ours)
	}
}
