package results

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// element is what the schema of the JUnit format has of an element: junit-10.xsd of the xUnit plugin of
// Jenkins.
type element struct {
	parents            []string
	required, optional []string // attributes
	text               bool
}

var schema = map[string]element{
	"testsuites": {parents: []string{""}, optional: []string{"name", "time", "tests", "failures", "errors"}},
	"testsuite": {parents: []string{"", "testsuites", "testsuite"}, required: []string{"name", "tests", "failures", "errors"},
		optional: []string{"group", "time", "skipped", "timestamp", "hostname", "id", "package", "file", "log", "url"}},
	"testcase": {parents: []string{"testsuite"}, required: []string{"name"}, optional: []string{"time", "classname", "group"}},
	"failure":  {parents: []string{"testcase"}, optional: []string{"type", "message"}, text: true},
	"error":    {parents: []string{"testcase"}, optional: []string{"type", "message"}, text: true},
	"skipped":  {parents: []string{"testcase"}, optional: []string{"type", "message"}, text: true},
}

// seconds are the time of suites in the schema.
var seconds = regexp.MustCompile(`^(([0-9]{0,3},)*[0-9]{3}|[0-9]{0,3})*(\.[0-9]*)?$`)

// valid returns what the schema does not allow.
func valid(doc string) error {
	d := xml.NewDecoder(strings.NewReader(doc))
	within := []string{""}
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		switch x := token.(type) {
		case xml.StartElement:
			e, ok := schema[x.Name.Local]
			if parent := within[len(within)-1]; !ok || !slices.Contains(e.parents, parent) {
				return fmt.Errorf("there is %s in %q", x.Name.Local, parent)
			}
			missing := slices.Clone(e.required)
			for _, a := range x.Attr {
				missing = slices.DeleteFunc(missing, func(name string) bool { return name == a.Name.Local })
				if !slices.Contains(append(e.required, e.optional...), a.Name.Local) || a.Name.Local == "time" && !seconds.MatchString(a.Value) {
					return fmt.Errorf("%s has %s=%q", x.Name.Local, a.Name.Local, a.Value)
				}
			}
			if len(missing) > 0 {
				return fmt.Errorf("%s lacks %q", x.Name.Local, missing)
			}
			within = append(within, x.Name.Local)
		case xml.EndElement:
			within = within[:len(within)-1]
		case xml.CharData:
			if in := within[len(within)-1]; !schema[in].text && strings.TrimSpace(string(x)) != "" {
				return fmt.Errorf("there is the text %q in %s", x, in)
			}
		}
	}
}

func TestJUnit(t *testing.T) {
	one, two, three := line("a", 0, Pass), line("a", 1, Fail), line("b", 0, Void)
	one.Duration, two.Reason, three.Suite, three.Reason = time.Second, "<why>\nmore \x00", "other", "the endpoint failed"
	var out strings.Builder
	if err := JUnit(&out, []*Line{one, two, three}); err != nil {
		t.Fatal(err)
	}
	if err := valid(out.String()); err != nil {
		t.Errorf("%v: %s", err, out.String())
	}
	var got junitSuites
	if err := xml.Unmarshal([]byte(out.String()), &got); err != nil {
		t.Fatal(err)
	}
	if got.Tests != 3 || got.Failures != 1 || got.Errors != 1 || len(got.Suites) != 2 || got.Suites[0].Time != "1.000" || got.Suites[1].Errors != 1 {
		t.Errorf("got %s", out.String())
	}
	if why := got.Suites[0].Cases[1].Failure; why == nil || why.Message != "<why>" || !strings.HasPrefix(why.Text, "<why>\nmore") {
		t.Errorf("got %+v, want the text of the failure", why)
	}
	if why := got.Suites[1].Cases[0].Error; why == nil || why.Message != "the endpoint failed" {
		t.Errorf("got %+v, want why the trial is void", why)
	}
}
