package grade

import (
	"encoding/json"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mcpchain/mcpchain/evals/agent/results"
	"github.com/mcpchain/mcpchain/evals/agent/suite"
)

// answer scores the share of the claims about an answer that hold.
func answer(want *suite.Answer, got string) results.Score {
	var c claims
	if want.Exact != nil {
		c.add(strings.TrimSpace(got) == strings.TrimSpace(*want.Exact), "it is not %q", *want.Exact)
	}
	for _, r := range want.Regex {
		ok, err := regexp.MatchString(r, got)
		c.add(ok && err == nil, "it does not match %q", r)
	}
	for _, phrase := range want.Contains {
		c.add(hasWords(strings.ToLower(got), strings.ToLower(strings.TrimSpace(phrase))), "it lacks %q", phrase)
	}
	for _, text := range want.Lacks {
		c.add(!strings.Contains(strings.ToLower(got), strings.ToLower(text)), "it has %q", text)
	}
	if want.Number != nil {
		n, ok := lastNumber(got)
		c.add(ok && math.Abs(n-*want.Number) <= want.Tolerance, "its number is %v, want %v", n, *want.Number)
	}
	if want.Set != nil {
		c.add(slices.Equal(words(got), words(strings.Join(want.Set, ","))), "its words are %q", words(got))
	}
	for _, m := range want.JSON {
		c.add(hasMember(got, m), "%s is not %s", m.Pointer, m.Equals)
	}
	return c.score("answer")
}

// hasWords reports whether a text contains a phrase as whole words and numbers: 1,000 and 100.5 do not contain 100.
func hasWords(text, phrase string) bool {
	if phrase == "" {
		return false
	}
	first, _ := utf8.DecodeRuneInString(phrase)
	last, _ := utf8.DecodeLastRuneInString(phrase)
	pattern := regexp.QuoteMeta(phrase)
	switch {
	case unicode.IsDigit(first):
		pattern = `(?:^|[^\pL\p{Nd}_.,]|(?:^|\P{Nd})[.,])` + pattern
	case unicode.IsLetter(first) || first == '_':
		pattern = `(?:^|[^\pL\p{Nd}_])` + pattern
	}
	switch {
	case unicode.IsDigit(last):
		pattern += `(?:$|[^\pL\p{Nd}_.,]|[.,](?:$|\P{Nd}))`
	case unicode.IsLetter(last) || last == '_':
		pattern += `(?:$|[^\pL\p{Nd}_])`
	}
	return regexp.MustCompile(pattern).MatchString(text)
}

var number = regexp.MustCompile(`(?:(?:^|[^\pL\p{Nd}])(-))?(\d+(?:,\d{3})*(?:\.\d+)?)`)

// lastNumber returns the last number in a text, false if there is none. A comma before three digits belongs to the
// number, and a hyphen unless a letter or a digit precedes it, as in 5-7.
func lastNumber(text string) (float64, bool) {
	all := number.FindAllStringSubmatch(text, -1)
	if len(all) == 0 {
		return 0, false
	}
	last := all[len(all)-1]
	n, err := strconv.ParseFloat(last[1]+strings.ReplaceAll(last[2], ",", ""), 64)
	return n, err == nil
}

// words returns the sorted lines or comma-separated words of a text in lower case, without the marks of a list.
func words(text string) []string {
	all := strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == '\n' })
	for i := range all {
		all[i] = strings.ToLower(strings.Trim(all[i], " \t\r.-*"))
	}
	all = slices.DeleteFunc(all, func(w string) bool { return w == "" })
	slices.Sort(all)
	return all
}

// hasMember reports whether a text is JSON, possibly in a code fence, with a member.
func hasMember(text string, m suite.Member) bool {
	text = strings.TrimSpace(text)
	text = strings.TrimSpace(strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(text, "```json"), "```"), "```"))
	_, same := valueAt([]byte(text), m.Pointer, m.Equals)
	return same && json.Valid([]byte(text))
}
