package results

// latest keeps the last line of each trial.
type latest struct {
	all   []*Line
	at    map[Key]int
	again map[Key]bool // trials that are run again
}

func (s *latest) put(l *Line) {
	delete(s.again, l.Key())
	if i, ok := s.at[l.Key()]; ok {
		s.all[i] = l
		return
	}
	if s.at == nil {
		s.at = map[Key]int{}
	}
	s.at[l.Key()] = len(s.all)
	s.all = append(s.all, l)
}

// counts reports whether a trial has a line, and need not be run again.
func (s *latest) counts(key Key) bool {
	i, ok := s.at[key]
	return ok && s.all[i].Outcome != Void && !s.again[key]
}

func (s *latest) forget(key Key) {
	if s.again == nil {
		s.again = map[Key]bool{}
	}
	s.again[key] = true
}

// version is what the lines of one table have in common, the versions of suite and program aside.
type version struct {
	suite, model, config string
	mode                 Mode
}

// Current leaves out what newer lines have replaced: earlier lines of a trial, and lines of a suite
// by versions of suite or program other than that of its newest line. It returns how many it left out.
func Current(lines []*Line) (current []*Line, out int) {
	var last latest
	newest := map[version]*Line{}
	for _, l := range lines {
		last.put(l)
		v := version{l.Suite, l.Model, l.Config, l.Mode}
		if n := newest[v]; n == nil || !l.Date.Before(n.Date) {
			newest[v] = l
		}
	}
	for _, l := range last.all {
		if n := newest[version{l.Suite, l.Model, l.Config, l.Mode}]; l.SuiteHash == n.SuiteHash && l.Program == n.Program {
			current = append(current, l)
		}
	}
	return current, len(lines) - len(current)
}
