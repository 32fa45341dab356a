package rewrite

import (
	"fmt"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
)

// maxPatternLength bounds the lengths that are written as patterns: a provider's
// grammar grows with them.
const maxPatternLength = 256

// lengths writes minLength and maxLength as a pattern, where there is none that
// says them already.
func (s *strictness) lengths(in, out map[string]any, at string) bool {
	l, hasLeast, hasMost := lengthsOf(in)
	all := types(in)
	switch {
	case !hasLeast && !hasMost:
		return true
	case l.most >= 0 && l.most < l.least:
		return s.fail(at, "maxLength", "no text is as long")
	case len(all) > 0 && !slices.Contains(all, "string"), constants(in) != nil:
		s.note(at, "minLength", Same, "left out, because it says nothing more")
		return true
	}
	own, hasPattern := out["pattern"].(string)
	said := reach{most: -1}
	if hasPattern {
		said = reachOf(own)
	}
	_, hasFormat := out["format"]
	if hasFormat {
		said.least = 1 // none of those that are known fits the empty text
	}
	lacking := reach{most: -1}
	for _, key := range []string{"minLength", "maxLength"} {
		limit, isSaid := l.least, said.least >= l.least
		if key == "maxLength" {
			limit, isSaid = l.most, l.most < 0 || said.most >= 0 && said.most <= l.most
		}
		switch _, there := in[key]; {
		case !there:
		case isSaid:
			s.note(at, key, Same, "the pattern or the format says it")
		case limit > maxPatternLength:
			s.note(at, key, Wider, "told in the description, because it is over "+strconv.Itoa(maxPatternLength))
		case key == "minLength":
			lacking.least = limit
		default:
			lacking.most = limit
		}
	}
	if lacking.least == 0 && lacking.most < 0 {
		return true
	}
	if lacking.most >= 0 && lacking.most < max(lacking.least, said.least) {
		return s.fail(at, "maxLength", "no text is as long")
	}
	unit := `[\s\S]`
	if hasPattern {
		var ok bool
		if unit, ok = repeated(own); !ok {
			s.note(at, lacking.keyword(), Wider, "told in the description, because there is a pattern")
			return true
		}
		lacking.least = max(lacking.least, said.least)
	}
	if hasFormat {
		delete(out, "format")
		describe(out, "(format: "+text(in["format"])+")")
		s.note(at, "format", Same, "the format is told in the description, because a pattern says the length")
	}
	out["pattern"] = "^" + unit + lacking.quantifier() + "$"
	s.note(at, lacking.keyword(), Same, "written as a pattern")
	return true
}

// reach is how long a text can be, in code points; most is -1 for any length.
type reach struct{ least, most int }

// lengthsOf reads what s demands.
func lengthsOf(s map[string]any) (l reach, hasLeast, hasMost bool) {
	l.most = -1
	for key, to := range map[string]*int{"minLength": &l.least, "maxLength": &l.most} {
		limit, ok := rational(s[key])
		if !ok {
			continue
		}
		hasLeast, hasMost = hasLeast || key == "minLength", hasMost || key == "maxLength"
		f, _ := limit.Float64()
		*to = int(min(f, 1<<30))
	}
	return l, hasLeast, hasMost
}

func (r reach) keyword() string {
	if r.least > 0 && r.most < 0 {
		return "minLength"
	}
	return "maxLength"
}

func (r reach) quantifier() string {
	switch {
	case r.most >= 0:
		return fmt.Sprintf("{%d,%d}", r.least, r.most)
	case r.least == 1:
		return "+"
	}
	return fmt.Sprintf("{%d,}", r.least)
}

// reachOf is how long a text is that a pattern matches, as far as that is known.
func reachOf(pattern string) reach {
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return reach{most: -1}
	}
	r := reachIn(re)
	anchored := re.Op == syntax.OpConcat && len(re.Sub) > 1 &&
		re.Sub[0].Op == syntax.OpBeginText && re.Sub[len(re.Sub)-1].Op == syntax.OpEndText
	if !anchored {
		r.most = -1
	}
	return r
}

func reachIn(re *syntax.Regexp) reach {
	sub := make([]reach, len(re.Sub))
	for i, s := range re.Sub {
		sub[i] = reachIn(s)
	}
	switch re.Op {
	case syntax.OpLiteral:
		return reach{len(re.Rune), len(re.Rune)}
	case syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return reach{1, 1}
	case syntax.OpCapture:
		return sub[0]
	case syntax.OpStar:
		return reach{0, -1}
	case syntax.OpPlus:
		return reach{sub[0].least, -1}
	case syntax.OpQuest:
		return reach{0, sub[0].most}
	case syntax.OpRepeat:
		return reach{re.Min * sub[0].least, product(re.Max, sub[0].most)}
	case syntax.OpConcat:
		var out reach
		for _, r := range sub {
			out.least += r.least
			if out.most = out.most + r.most; r.most < 0 || out.most < 0 {
				out.most = -1 << 30 // and stays below 0
			}
		}
		out.most = max(out.most, -1)
		return out
	case syntax.OpAlternate:
		out := sub[0]
		for _, r := range sub[1:] {
			out.least = min(out.least, r.least)
			if out.most = max(out.most, r.most); r.most < 0 || out.most < 0 {
				out.most = -1
			}
		}
		return out
	}
	return reach{}
}

func product(a, b int) int {
	if a < 0 || b < 0 {
		return -1
	}
	return a * b
}

// repeated is what a pattern repeats that is nothing but one kind of character,
// any number of times.
func repeated(pattern string) (unit string, ok bool) {
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil || re.Op != syntax.OpConcat || len(re.Sub) != 3 || len(pattern) < 4 ||
		re.Sub[0].Op != syntax.OpBeginText || re.Sub[2].Op != syntax.OpEndText ||
		re.Sub[1].Op != syntax.OpStar && re.Sub[1].Op != syntax.OpPlus {
		return "", false
	}
	inner := re.Sub[1].Sub[0]
	unit = pattern[1 : len(pattern)-2]
	return unit, pattern[0] == '^' && strings.HasSuffix(pattern, "$") && strings.ContainsAny(pattern[len(pattern)-2:], "+*") &&
		(inner.Op == syntax.OpCharClass || inner.Op == syntax.OpAnyCharNotNL || inner.Op == syntax.OpLiteral && len(inner.Rune) == 1)
}
