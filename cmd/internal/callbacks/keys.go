package callbacks

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/nebis-dev/nebis/callback/callbacktest"
)

// Names are the providers that can be played.
func Names() string { return "alipay, wechatpay, epay, stripe, webhooks" }

// Open makes the sender that signs with the keys of a file, and with what is given in
// place of these. A file that is missing is made, for its owner alone, unless all that
// it would have was given; a secret that was given is in no file.
func Open(name, file string, given callbacktest.Keys) (s *callbacktest.Sender, isNew bool, err error) {
	maker, ok := callbacktest.Makers[name]
	if !ok {
		return nil, false, fmt.Errorf("provider %q is not known: there are %s", name, Names())
	}
	keys := callbacktest.Keys{}
	text, err := os.ReadFile(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		isNew = true
	case err != nil:
		return nil, false, err
	default:
		if err := json.Unmarshal(text, &keys); err != nil {
			return nil, false, fmt.Errorf("%s has no keys: %w", file, err)
		}
	}
	if given.Account != "" {
		keys.Account = given.Account
	}
	if given.Secret != "" {
		keys.Secret = strings.TrimSpace(given.Secret)
	}
	if s, err = maker(keys); err != nil || !isNew {
		return s, isNew, err
	}
	made := s.Keys
	if given.Secret != "" {
		made.Secret = ""
	}
	if made.Secret == "" && made.Private == "" {
		return s, false, nil
	}
	return s, true, save(file, made)
}

func save(file string, k callbacktest.Keys) error {
	text, err := json.MarshalIndent(k, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(text, '\n'), 0o600)
}
