package results

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
)

// The elements of JUnit XML.
type (
	junitSuites struct {
		XMLName  xml.Name      `xml:"testsuites"`
		Tests    int           `xml:"tests,attr"`
		Failures int           `xml:"failures,attr"`
		Errors   int           `xml:"errors,attr"`
		Suites   []*junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Errors   int         `xml:"errors,attr"`
		Time     string      `xml:"time,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Name    string    `xml:"name,attr"`
		Class   string    `xml:"classname,attr"`
		Time    string    `xml:"time,attr"`
		Failure *junitWhy `xml:"failure,omitempty"`
		Error   *junitWhy `xml:"error,omitempty"` // cause of a void trial
	}
	junitWhy struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// JUnit writes trials as JUnit XML, with a test suite for each suite.
func JUnit(out io.Writer, lines []*Line) error {
	var doc junitSuites
	for _, group := range BySuite(lines) {
		s := &junitSuite{Name: group[0].Suite}
		seconds := 0.0
		for _, l := range group {
			seconds += l.Duration.Seconds()
			s.add(l)
		}
		s.Time = fmt.Sprintf("%.3f", seconds)
		doc.Suites = append(doc.Suites, s)
		doc.Tests, doc.Failures, doc.Errors = doc.Tests+s.Tests, doc.Failures+s.Failures, doc.Errors+s.Errors
	}
	if _, err := io.WriteString(out, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(out)
	e.Indent("", "  ")
	return e.Encode(doc)
}

// add adds a trial. The message of a failure is the first line of the reason, cut to 200 bytes.
func (s *junitSuite) add(l *Line) {
	c := junitCase{Name: fmt.Sprintf("%s/%d", l.Task, l.Trial), Class: l.Suite, Time: fmt.Sprintf("%.3f", l.Duration.Seconds())}
	first, _, _ := strings.Cut(l.Reason, "\n")
	why := &junitWhy{Message: strings.ToValidUTF8(first[:min(len(first), 200)], ""), Text: l.Reason}
	s.Tests++
	switch l.Outcome {
	case Fail:
		s.Failures++
		c.Failure = why
	case Void:
		s.Errors++
		c.Error = why
	}
	s.Cases = append(s.Cases, c)
}
