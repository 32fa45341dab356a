package results

import (
	"strings"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/internal/check"
)

// The document fits junit-10.xsd of the xUnit plugin of Jenkins.
func TestJUnit(t *testing.T) {
	one, two, three := line("a", 0, Pass), line("a", 1, Fail), line("b", 0, Void)
	one.Duration, two.Reason, three.Suite, three.Reason = time.Second, "<why>\nmore \x00", "other", "the endpoint failed"
	var out strings.Builder
	check.Must(t, JUnit(&out, []*Line{one, two, three}))
	const want = `<?xml version="1.0" encoding="UTF-8"?>
<testsuites tests="3" failures="1" errors="1">
  <testsuite name="s" tests="2" failures="1" errors="0" time="1.000">
    <testcase name="a/0" classname="s" time="1.000"></testcase>
    <testcase name="a/1" classname="s" time="0.000">
      <failure message="&lt;why&gt;">&lt;why&gt;&#xA;more �</failure>
    </testcase>
  </testsuite>
  <testsuite name="other" tests="1" failures="0" errors="1" time="0.000">
    <testcase name="b/0" classname="other" time="0.000">
      <error message="the endpoint failed">the endpoint failed</error>
    </testcase>
  </testsuite>
</testsuites>`
	check.Same(t, "the document", out.String(), want)
}
