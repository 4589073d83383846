package secret

import "testing"

// Words that local servers take for a key, numbers and letters are no credentials.
func TestWeak(t *testing.T) {
	for _, weak := range []string{
		"", "x", "0", "1082", "1234", "none", "EMPTY", "test", "dummy", "token", "local", "ollama", "lm-studio", "sk-1234", "sk-test", "sk-no-key-required",
		"not-needed", "sk-placeholder", "your_api_key_here", "hunter2", "12345678", "1234567890", "20240101", "00000000", "aaaaaaaaaaaaaaaa", "xxxxxxxxxxxxxxxx",
		"password123", "reduction", "test.csv", " none\n", "Bearer none", "test_1234", "abc12345",
	} {
		if !Weak(weak) {
			t.Errorf("%q is masked", weak)
		}
	}
	for _, strong := range []string{
		"a-long-and-real-looking-key", "sk-proj-x9K2mQ7vLz", "0123456789abcdef0123456789abcdef", "AKIAIOSFODNN7EXAMPLE", "abcdefghijklmnop", "hunter2hunter2x9",
		"sk-test-51H8fKq29aZ", "correct-horse-battery", "ghp_16C7e42F292c69", "83920174650192837465", "test-83920174", "s3cr3t-v4lue", "пароль-от-базы", `p@ss"w\rd<9>`,
	} {
		if Weak(strong) {
			t.Errorf("%q is not masked", strong)
		}
	}
}
