// Package mask makes the masked version of a prepared competition: the same
// rows, labels and metric under other ids and in another order, so that neither
// a model's memory nor a copy of Kaggle's data leads from an id to its label.
//
// # Vocabulary
//
//   - A salt is the secret that decides the ids and the order. It is committed
//     to by its digest before a run and published after it; anyone can then make
//     the same files.
//   - An id is a cell of an id column, or the part of it that the definition's
//     mask block finds. The first id column is that of the grade block.
//   - A key is what stands for an id: a string for a string, an integer for an
//     integer. A suffix such as .jpg stays.
//
// # How
//
// Masking is a pass over the prepared files, the same for the public and the
// private ones. The first reading collects the ids. The second replaces them in
// the cells of id columns (CSV), in the values of id columns and in paths
// (JSON), and in the names of files and folders. The rows of a table, the lines
// of a JSON Lines file and the elements of a JSON array are sorted by a keyed
// hash of their ids, so equal ids stay together and in order, and tables that
// are aligned by row stay aligned. Archives are packed again, with their entries
// sorted by the new names. Text chunks and EXIF data of PNG and JPEG files are
// dropped; the pixels are not touched. Prepared files have no times.
//
// All other bytes stay as they are: a cell keeps its quotes and its digits.
//
// Draw writes a small split by the same pass: it leaves out the rows and files of
// ids that are not drawn, and changes nothing else.
//
// # Invariants
//
//   - Keys depend on the salt and the id only. Integers below 2⁶² are permuted,
//     so two never get one key; keys of strings have 100 bits.
//   - A submission is relabelled by the function that relabels the answers
//     (Table), so a score is the same before and after.
//
// # Refused input
//
// Files whose format can hold ids that it does not replace, such as Parquet and
// TFRecord, unless the definition says that they hold none; numbers in JSON that no
// number can stand for; salts of less than 16 bytes. The content of a row is not
// changed: a model that recognises a text or an image is not hindered.
package mask
