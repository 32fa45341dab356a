package results

// latest has the last line of each trial.
type latest struct {
	all   []*Line
	at    map[Key]int
	again map[Key]bool // trials that are to be repeated
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

// counts reports whether a trial has a line, and is not to be repeated.
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
