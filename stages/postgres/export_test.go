package postgres

// LetGo gives up the lock on the server's directory, as the end of the tool would.
func (s *Server) LetGo() { s.run.lock.Close() }
