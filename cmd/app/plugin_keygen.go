package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/berth-scheduler/berth/internal/bounded"
	"github.com/berth-scheduler/berth/runtime/market/signing"
)

// passwordVariable has the password of a private key.
const passwordVariable = "BERTH_KEY_PASSWORD"

func newPluginKeygen() *cobra.Command {
	var prefix, algorithm string
	cmd := &cobra.Command{
		Use:   "keygen",
		Short: "Make a pair of keys for signing plugins",
		Long: `Keygen makes a private key, encrypted by a password, and its public key, in the files
PREFIX.key and PREFIX.pub. They are in cosign's format, so cosign and berth read each
other's keys. Keygen takes the password from ` + passwordVariable + `, or asks for it.`,
		Example: `  berth plugin keygen
  berth plugin keygen --algorithm ed25519 -o team`,
		Args:    noArguments(""),
		PreRunE: applySettings,
		RunE: func(cmd *cobra.Command, _ []string) error {
			password, err := newPassword(cmd.Context(), cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			if err := keygen(prefix, algorithm, password, cmd.OutOrStdout()); err != nil {
				return err
			}
			if len(password) == 0 {
				plainly(cmd.ErrOrStderr())(fmt.Sprintf("the password is empty: everybody who can read %s.key can sign with it", prefix))
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVarP(&prefix, "output", "o", "berth", "`PREFIX` of the files")
	f.StringVar(&algorithm, "algorithm", signing.ECDSA, "`ALGORITHM` of the key: "+signing.ECDSA+" or "+signing.Ed25519)
	return cmd
}

func keygen(prefix, algorithm string, password []byte, stdout io.Writer) error {
	key, err := signing.Generate(algorithm)
	if err != nil {
		return fmt.Errorf("--algorithm: %w", err)
	}
	text, err := key.PEM(password)
	if err != nil {
		return err
	}
	if err := createFile(prefix+".key", text, 0o600); err != nil {
		return err
	}
	if err := createFile(prefix+".pub", key.Public().PEM(), 0o644); err != nil {
		return err
	}
	_, err = fmt.Fprintf(stdout, "%s.key: the private key, keep it secret\n%s.pub: the public key %s\n", prefix, prefix, key.Public().ID())
	return writing(err)
}

// createFile writes a file that must not be there yet.
func createFile(path string, data []byte, mode os.FileMode) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if errors.Is(err, os.ErrExist) {
		return fmt.Errorf("%s is there already: name another prefix with --output", path)
	}
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}

// newPassword is the password of a key that is being made, asked for twice.
func newPassword(ctx context.Context, prompt io.Writer) ([]byte, error) {
	password, asked, err := readPassword(ctx, "Password of the private key", prompt)
	if err != nil || !asked {
		return password, err
	}
	again, _, err := readPassword(ctx, "The same again", prompt)
	if err == nil && string(again) != string(password) {
		err = errors.New("the passwords differ: try again")
	}
	return password, err
}

// readPassword takes a password from the environment, or else asks for it.
func readPassword(ctx context.Context, what string, prompt io.Writer) (password []byte, asked bool, err error) {
	if password, ok := os.LookupEnv(passwordVariable); ok {
		return []byte(password), false, nil
	}
	if !term.IsTerminal(int(os.Stdin.Fd())) {
		return nil, false, fmt.Errorf("there is no terminal to ask for the key's password: set %s", passwordVariable)
	}
	fmt.Fprintf(prompt, "%s: ", what)
	in := int(os.Stdin.Fd())
	echoing, err := term.GetState(in)
	if err != nil {
		return nil, true, err
	}
	password, err = bounded.Until(ctx, func() ([]byte, error) { return term.ReadPassword(in) })
	if err != nil {
		_ = term.Restore(in, echoing) // an interrupt left it without
	}
	fmt.Fprintln(prompt)
	return password, true, err
}

// readPrivateKey reads a private key's file.
func readPrivateKey(ctx context.Context, file string, prompt io.Writer) (*signing.PrivateKey, error) {
	if file == "" {
		return nil, errors.New("--key is missing: name the private key, as berth plugin keygen made it")
	}
	text, err := bounded.File(ctx, file, signing.MaxKey)
	if err != nil {
		return nil, unreadable(err, "key", file)
	}
	key, err := signing.ParsePrivateKey(text, func() ([]byte, error) {
		password, _, err := readPassword(ctx, "Password of "+file, prompt)
		return password, err
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return key, nil
}

// readPublicKeys reads public keys' files.
func readPublicKeys(ctx context.Context, flag string, files []string) ([]*signing.PublicKey, error) {
	out := make([]*signing.PublicKey, len(files))
	for i, file := range files {
		text, err := bounded.File(ctx, file, signing.MaxKey)
		if err != nil {
			return nil, unreadable(err, flag, file)
		}
		if out[i], err = signing.ParsePublicKey(text); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
	}
	return out, nil
}
