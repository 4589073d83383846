// Package split divides rows into parts exactly as scikit-learn and pandas
// do.
//
// Every function takes a number of rows, or one label a row, and returns row
// numbers; none knows about tables. Labels come as codes, whole numbers whose
// order is the order of the labels: Sorted gives numpy.unique's order, which
// scikit-learn uses, Appearance that of pandas.unique and Python's dict. The
// codes may have gaps. The Splitters that All lists are these functions under
// the names and arguments of the competition language.
//
// Invariants: tolerance 0 against the libraries that testdata/vectors.json
// names (scikit-learn 1.5.2 and 1.9.1, pandas 2.2.3 and 3.1.1, and numpy
// 1.24.2 and 2.4.6 agree on all of it, except that GroupKFold follows 1.9.1);
// the same rows on every machine; inputs are read-only; sizes that the
// libraries refuse are errors here, never adjusted. Without a size or seed,
// the defaults are the library's size and seed 0: nothing is ever drawn from
// the operating system's entropy.
//
// StratifiedGroupKFold is left out: no preparer uses it, and its shuffled
// folds differ between releases of scikit-learn.
//
// # What the reference's preparers draw
//
// Seed 0 unless said otherwise. "rows" is train_test_split over rows or over
// a list in the stated order, both parts in shuffled order.
//
//	3d-object-detection-for-autonomous-vehicles  logs in file order, test 0.2
//	AI4Code                                      sample frac 1, then FillGroups by ancestor_id (appearance), 20000 rows
//	aerial-cactus-identification                 rows, test 0.19
//	alaska2-image-steganalysis                   sorted files, test 5000, seed 42; Python(0): shuffle of the test files, then per
//	                                             file choice of 2 and, if it gives the second, choice of 3
//	aptos2019-blindness-detection                rows, test 0.1
//	billion-word-imputation                      RandomState(0) throughout: per line uniform(), per test line randint(1, words-1)
//	bms-molecular-translation                    rows, test 0.2
//	cassava-leaf-disease-classification          sorted .tfrec files, test 0.1
//	cdiscount-image-classification-challenge     rows, test 0.1
//	chaii-hindi-and-tamil-question-answering     rows, test 0.1
//	champs-scalar-coupling                       molecule_name sorted, test 0.1; rows group by group (RowsOf)
//	denoising-dirty-documents                    sorted files, test 0.2
//	detecting-insults-in-social-commentary       none
//	dog-breed-identification                     rows, test 0.1
//	dogs-vs-cats-redux-kernels-edition           sorted files, test 0.1
//	facebook-recruiting-iii-keyword-extraction   rows, test 0.1
//	freesound-audio-tagging-2019                 none
//	google-quest-challenge                       rows, test 0.1
//	google-research-identify-contrails-…         rows, test = number of validation rows; Python(0): choice of 2 per answer
//	h-and-m-personalized-fashion-recommendations none
//	herbarium-2020-fgvc7, herbarium-2021-fgvc8   TrainTestSplitEach category (appearance), few 5, test 0.2; Python(0) shuffle of
//	                                             all test items
//	herbarium-2022-fgvc9                         TrainTestSplitEach category (appearance), test 0.2; Python(0) shuffle of all test items
//	histopathologic-cancer-detection             rows, test = test files / (rows + test files); rows by membership
//	hms-harmful-brain-activity-classification    GroupShuffleSplit by spectrogram_id (appearance), test 0.1
//	hotel-id-2021-fgvc8                          rows, test 0.1
//	hubmap-kidney-segmentation                   rows, train 12, test 3
//	icecube-neutrinos-in-deep-ice                GroupShuffleSplit by batch_id (appearance), test 0.1
//	imet-2020-fgvc7                              rows, test 0.15
//	inaturalist-2019-fgvc6                       TrainTestSplitEach category (appearance), few 5, test 0.12; Python(0) shuffle of
//	                                             all test items; Python(42).randint(0, 1009) anew per row, so constant
//	invasive-species-monitoring                  rows, test 0.2
//	iwildcam-2019-fgvc6                          GroupShuffleSplit by location (appearance), test 0.1, seed 8
//	iwildcam-2020-fgvc7                          locations (appearance), test 0.22, both lists in shuffled order, then moves from
//	                                             the end of train; RandomState(0).randint(0, 676, rows)
//	jigsaw-toxic-comment-classification-challenge none
//	jigsaw-unintended-bias-in-toxicity-…         none
//	kuzushiji-recognition                        rows, test 0.1
//	leaf-classification                          rows, test 0.1
//	learning-agency-lab-automated-essay-…        rows, test 0.1; RandomState(42).randint(1, 7, rows)
//	lmsys-chatbot-arena                          rows, test 0.1
//	ml2021spring-hw2                             rows, test = old test / (old train + old test)
//	mlsp-2013-birds                              sample frac 0.2
//	movie-review-sentiment-analysis-kernels-only rows, test 0.3
//	multi-modal-gesture-recognition              Python(0): sample(1…20, 20) per row
//	new-york-city-taxi-fare-prediction           rows, test 9914
//	nfl-player-contact-detection                 GroupShuffleSplit by game_play (appearance), test 0.1
//	nomad2018-predict-transparent-conductors     rows, test 0.1
//	osic-pulmonary-fibrosis-progression          Patient sorted, test 0.1; rows group by group (RowsOf)
//	paddy-disease-classification                 rows, train 0.75
//	petfinder-pawpularity-score                  rows, test 0.1; Generator(0).uniform(1, 100, rows)
//	plant-pathology-2020-fgvc7                   rows, test 0.1
//	plant-pathology-2021-fgvc8                   rows, test 0.2
//	plant-seedlings-classification               rows, test 0.14
//	playground-series-s3e18                      rows, test 0.1
//	predict-volcanic-eruptions-ingv-oe           rows, test 0.1
//	random-acts-of-pizza                         rows, test = old test / (old train + old test)
//	ranzcr-clip-catheter-line-classification     rows, test 0.1
//	rsna-2022-cervical-spine-fracture-detection  Python(0): four samples of lists in turn
//	rsna-breast-cancer-detection                 GroupShuffleSplit by patient_id (appearance), test 0.1, seed 42
//	rsna-miccai-brain-tumor-radiogenomic-…       rows, test 0.1
//	seti-breakthrough-listen                     rows, test 0.1
//	siim-covid19-detection                       studies, test 0.1
//	siim-isic-melanoma-classification            none
//	smartphone-decimeter-2022                    GroupShuffleSplit by date (sorted), test 0.1
//	spaceship-titanic                            rows, test 0.1
//	spooky-author-identification                 rows, test 0.1
//	stanford-covid-vaccine                       sample n = ⌊0.1·rows⌋ of the rows with SN_filter > 0
//	statoil-iceberg-classifier-challenge         rows, test 0.2
//	tabular-playground-series-dec-2021           rows, test 0.1
//	tabular-playground-series-may-2022           rows, test 100000
//	tensorflow-speech-recognition-challenge      files sorted by label_name, test 0.1
//	tensorflow2-question-answering               rows of each 1000-line chunk, test 0.1
//	text-normalization-challenge-english-…       GroupShuffleSplit by sentence_id (appearance), test 0.1
//	text-normalization-challenge-russian-…       GroupShuffleSplit by sentence_id (appearance), test 0.1
//	tgs-salt-identification-challenge            rows, test 0.25
//	the-icml-2013-whale-challenge-…              none
//	tweet-sentiment-extraction                   rows, test 0.1
//	us-patent-phrase-to-phrase-matching          rows, test 0.1
//	uw-madison-gi-tract-image-segmentation       case (appearance), test 0.1, seed 42, then days past the fourth
//	ventilator-pressure-prediction               breath_id sorted, test 0.1; rows group by group (RowsOf)
//	vesuvius-challenge-ink-detection             none
//	vinbigdata-chest-xray-abnormalities-…        GroupShuffleSplit by image_id (appearance), test 0.1
//	whale-categorization-playground              per whale (appearance): sample 2, or Generator(0) weighted choice of 2 with
//	                                             p 0.9 and 0.1; then the undecided rows, test 0.1
package split
