package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mcpchain/mcpchain/mcpclient"
)

// answers are given beforehand to the fields of forms.
type answers map[string]string

func (a answers) String() string { return "" }

// Set reads key=value.
func (a answers) Set(s string) error {
	key, value, found := strings.Cut(s, "=")
	if !found || key == "" {
		return errors.New("want key=value")
	}
	if _, dup := a[key]; dup {
		return fmt.Errorf("key %q is there twice", key)
	}
	a[key] = value
	return nil
}

// mistakes are keys of no field, by the field that each probably means, or ""
// for those that may be for another form. A field that has an answer is not
// meant by another key.
func (a answers) mistakes(fields []*mcpclient.Field) (near map[string]string, others []string) {
	near = map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(a)) {
		if slices.ContainsFunc(fields, func(f *mcpclient.Field) bool { return f.Name == key }) {
			continue
		}
		best, least := "", 2+len(key)/4
		for _, f := range fields {
			if _, given := a[f.Name]; given || len(f.Name) > 2*len(key)+2 {
				continue
			}
			if d := distance(key, f.Name); d < least {
				best, least = f.Name, d
			}
		}
		if best == "" {
			others = append(others, key)
			continue
		}
		near[key] = best
	}
	return near, others
}

// distance counts the letters to add, drop or change to make b of a.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
