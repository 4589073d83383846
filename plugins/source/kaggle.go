package source

import (
	"context"
	"errors"
	"fmt"

	"github.com/mleflow/mleflow/cache/digest"
)

// Kaggle stands for Kaggle's downloads, so that pipelines over its
// competitions can be read and planned. It cannot fetch yet: it says how to
// bring the data by hand.
type Kaggle struct{}

// Check implements Source.
func (Kaggle) Check(spec Spec) error {
	if spec.Slug == "" {
		return errors.New("a kaggle source needs a slug, the last part of the competition's address")
	}
	return nil
}

// Fingerprint implements Source. Competitions are closed: without a pin the
// name stands for the content.
func (Kaggle) Fingerprint(spec Spec, h *digest.Hasher) error {
	if !fingerprintPins(spec, h) {
		h.String("source Kaggle", spec.Slug)
	}
	return nil
}

// Fetch implements Source.
func (Kaggle) Fetch(_ context.Context, req Request) (Data, error) {
	return Data{}, fmt.Errorf("fetch %s from Kaggle: this version cannot; download all files of https://www.kaggle.com/competitions/%s/data "+
		"by hand and name the archive, or the folder it was unpacked to: from = \"/…\"", req.Spec.Slug, req.Spec.Slug)
}
