package check

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
)

// The elements of JUnit's XML.
type (
	junitSuites struct {
		XMLName  xml.Name     `xml:"testsuites"`
		Tests    int          `xml:"tests,attr"`
		Failures int          `xml:"failures,attr"`
		Errors   int          `xml:"errors,attr"`
		Suites   []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Errors   int         `xml:"errors,attr"`
		Skipped  int         `xml:"skipped,attr"`
		Time     string      `xml:"time,attr"`
		Cases    []junitCase `xml:"testcase"`
		seconds  float64
	}
	junitCase struct {
		Name    string    `xml:"name,attr"`
		Class   string    `xml:"classname,attr"`
		Time    string    `xml:"time,attr"`
		Failure *junitWhy `xml:"failure,omitempty"`
		Error   *junitWhy `xml:"error,omitempty"`
		Skipped *junitWhy `xml:"skipped,omitempty"`
	}
	junitWhy struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// JUnit writes checks that have an outcome as JUnit XML, a suite for each kind.
func JUnit(out io.Writer, all []*Check) error {
	var doc junitSuites
	at := map[string]int{}
	for _, c := range all {
		if c.Outcome == "" {
			continue
		}
		i, ok := at[c.Kind]
		if !ok {
			i = len(doc.Suites)
			at[c.Kind] = i
			doc.Suites = append(doc.Suites, junitSuite{Name: c.Kind})
		}
		doc.Suites[i].add(c)
	}
	for i := range doc.Suites {
		s := &doc.Suites[i]
		s.Time = fmt.Sprintf("%.3f", s.seconds)
		doc.Tests, doc.Failures, doc.Errors = doc.Tests+s.Tests, doc.Failures+s.Failures, doc.Errors+s.Errors
	}
	if _, err := io.WriteString(out, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(out)
	e.Indent("", "  ")
	return e.Encode(doc)
}

func (s *junitSuite) add(c *Check) {
	one := junitCase{Name: c.Name, Class: c.Kind, Time: fmt.Sprintf("%.3f", c.Seconds)}
	why := &junitWhy{Message: firstLine(c.Text), Text: c.Text}
	s.Tests++
	s.seconds += c.Seconds
	switch c.Outcome {
	case Fail:
		s.Failures++
		one.Failure = why
	case Error:
		s.Errors++
		one.Error = why
	case Skip:
		s.Skipped++
		one.Skipped = why
	}
	s.Cases = append(s.Cases, one)
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	if len(line) > 200 {
		line = strings.ToValidUTF8(line[:200], "")
	}
	return line
}
