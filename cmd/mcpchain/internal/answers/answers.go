// Package answers fills in forms of servers with values from the command line.
package answers

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mcpchain/mcpchain/hosttext"
	"github.com/mcpchain/mcpchain/internal/spelling"
	"github.com/mcpchain/mcpchain/mcpclient/forms"
)

// Usage is the usage of the flag -answer.
const Usage = "answer a form of a server: `key=value` for a field, " +
	"or server/key=value if there are several servers; may be repeated"

// Answers are values of -answer by the names of fields. Before [Answers.ByServer] sorts them by
// server, the names may have a server, as in "files/date".
type Answers map[string]string

// String implements [flag.Value]. It returns the default, which is empty.
func (a Answers) String() string { return "" }

// Set implements [flag.Value]. It reads key=value or server/key=value.
func (a Answers) Set(s string) error {
	key, value, found := strings.Cut(s, "=")
	if !found || key == "" {
		return errors.New("want key=value")
	}
	if _, isDuplicate := a[key]; isDuplicate {
		return fmt.Errorf("%q is given twice", key)
	}
	a[key] = value
	return nil
}

// ByServer sorts the answers by server, so that no server gets an answer for another one. If there
// is only one server, answers need not name it.
func (a Answers) ByServer(servers []string) (map[string]Answers, error) {
	sorted := map[string]Answers{}
	for _, key := range slices.Sorted(maps.Keys(a)) {
		server, field := "", key
		for _, name := range servers {
			if rest, ok := strings.CutPrefix(key, name+"/"); ok && rest != "" && len(name) > len(server) {
				server, field = name, rest
			}
		}
		switch {
		case server == "" && len(servers) == 1:
			server = servers[0]
		case server == "" && len(servers) > 1:
			return nil, fmt.Errorf("-answer %s: say for which server, as in -answer %s/%s=value; there are %s",
				hosttext.Line(key, 80), servers[0], hosttext.Line(key, 80), strings.Join(servers, ", "))
		}
		if sorted[server] == nil {
			sorted[server] = Answers{}
		}
		if _, isDuplicate := sorted[server][field]; isDuplicate {
			return nil, fmt.Errorf("-answer: the field %s of the server %s is given twice",
				hosttext.Line(field, 80), server)
		}
		sorted[server][field] = a[key]
	}
	return sorted, nil
}

// Filled is a form that is filled in with prepared answers.
type Filled struct {
	Fields   []*forms.Field
	Values   map[string]any  // by field
	Answered int             // number of fields with an answer, also an empty one
	Mistakes []error         // in answers
	Faulty   map[string]bool // fields with a mistake
	Others   []string        // keys that may be for another form
}

// Fill fills in a form.
func (a Answers) Fill(fields []*forms.Field) *Filled {
	f := &Filled{Fields: fields, Values: map[string]any{}, Faulty: map[string]bool{}}
	f.sortUnknown(a)
	for _, field := range fields {
		text, ok := a[field.Name]
		if !ok {
			continue
		}
		value, err := field.Parse(text)
		if err != nil {
			f.Mistakes = append(f.Mistakes, fmt.Errorf("-answer: %w", err))
			f.Faulty[field.Name] = true
			continue
		}
		f.Answered++
		if value != nil {
			f.Values[field.Name] = value
		}
	}
	return f
}

// sortUnknown adds the keys that are not fields to Mistakes or Others. A key that is almost the name
// of a field without an answer is a mistake: ignoring it could send a wrong form.
func (f *Filled) sortUnknown(a Answers) {
	var names, unanswered []string
	for _, field := range f.Fields {
		names = append(names, field.Name)
		if _, given := a[field.Name]; !given {
			unanswered = append(unanswered, field.Name)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(a)) {
		if slices.Contains(names, key) {
			continue
		}
		meant := spelling.Nearest(key, unanswered)
		if meant == "" {
			f.Others = append(f.Others, key)
			continue
		}
		f.Mistakes = append(f.Mistakes, fmt.Errorf("-answer: no field %q; did you mean %q?", key, meant))
		f.Faulty[meant] = true
	}
}

// Complete adds the server's defaults, and reports whether the form can be sent, or else why not. A
// form without any prepared answer is not sent, and has no errors for that.
func (f *Filled) Complete() (ok bool, errs []error) {
	errs = slices.Clone(f.Mistakes)
	for _, field := range f.Fields {
		if f.Values[field.Name] != nil || f.Faulty[field.Name] {
			continue
		}
		value, err := field.Parse("")
		switch {
		case err != nil:
			errs = append(errs, err)
		case value != nil:
			f.Values[field.Name] = value
		}
	}
	return f.Answered > 0 && len(errs) == 0, errs
}

// UnknownKeys returns an error for each key that is not a field of the form.
func (f *Filled) UnknownKeys() (errs []error) {
	for _, key := range f.Others {
		errs = append(errs, fmt.Errorf("-answer: no field %q; the fields are %s", key, f.Names()))
	}
	return errs
}

// Example returns the name of the field for an example of an answer: the first required one, or else the first. The
// form must have a field.
func (f *Filled) Example() string {
	i := slices.IndexFunc(f.Fields, func(field *forms.Field) bool { return field.Required })
	return f.Fields[max(i, 0)].Name
}

// Names lists the names of the fields.
func (f *Filled) Names() string {
	var names []string
	for _, field := range f.Fields {
		names = append(names, hosttext.Line(field.Name, 60))
	}
	return strings.Join(names, ", ")
}
