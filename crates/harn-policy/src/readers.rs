//! The programs that only read, each with the options that are known to change nothing about that.

/// A program and its options: letters without a value, letters with one, and long options with blanks between them.
pub struct Reader {
    pub name: &'static str,
    pub flags: &'static str,
    pub valued: &'static str,
    pub long: &'static str,
}

const fn reader(name: &'static str, flags: &'static str, valued: &'static str, long: &'static str) -> Reader {
    Reader { name, flags, valued, long }
}

const GREP: &str = "ignore-case invert-match word-regexp line-regexp count color colour files-with-matches \
     files-without-match max-count only-matching quiet silent no-messages byte-offset with-filename no-filename \
     line-number initial-tab null context after-context before-context recursive dereference-recursive include \
     exclude exclude-dir binary-files text extended-regexp fixed-strings basic-regexp perl-regexp regexp file \
     null-data no-ignore-case help version";
const SUMS: &str = "binary text check tag zero ignore-missing quiet status strict warn help version";

pub const READERS: &[Reader] = &[
    reader("[", "*", "", ""),
    reader("[[", "*", "", ""),
    reader(":", "*", "", ""),
    reader("basename", "az", "s", "multiple suffix zero"),
    reader(
        "cat",
        "AbeEnstTuv",
        "",
        "show-all number number-nonblank squeeze-blank show-ends show-tabs show-nonprinting help version",
    ),
    reader("cd", "LPe", "", ""),
    reader("cmp", "bls", "in", "print-bytes silent quiet verbose bytes ignore-initial help version"),
    reader("column", "tnxeJ", "scoNHR", "table separator output-separator columns fillrows help version"),
    reader(
        "comm",
        "123iz",
        "",
        "check-order nocheck-order output-delimiter total zero-terminated help version",
    ),
    reader(
        "cut",
        "snz",
        "bcdf",
        "bytes characters delimiter fields complement only-delimited output-delimiter zero-terminated help version",
    ),
    reader("date", "uRI", "d", "utc universal iso-8601 rfc-3339 rfc-email date help version"),
    reader(
        "df",
        "ahHiklmPT",
        "tBx",
        "all block-size human-readable si inodes local portability print-type type exclude-type total output help \
         version",
    ),
    reader(
        "diff",
        "abBcdeEHilNnpqrsTtuwyZ0123456789",
        "CUWIFx",
        "brief unified context color side-by-side ignore-all-space ignore-space-change ignore-blank-lines \
         ignore-case ignore-trailing-space ignore-matching-lines recursive new-file text strip-trailing-cr minimal \
         suppress-common-lines width exclude no-dereference report-identical-files show-c-function normal label \
         help version",
    ),
    reader("dirname", "z", "", "zero"),
    reader(
        "du",
        "abcDHhklLmPsSx0",
        "dBt",
        "all apparent-size block-size bytes total human-readable si max-depth summarize separate-dirs threshold \
         time exclude one-file-system inodes null help version",
    ),
    reader("echo", "*", "", ""),
    reader("egrep", "EFGPivwxcLloqsbHhnTUzaIrRy0123456789", "efmABCdD", GREP),
    reader("false", "*", "", ""),
    reader("fgrep", "EFGPivwxcLloqsbHhnTUzaIrRy0123456789", "efmABCdD", GREP),
    reader(
        "file",
        "bhiIkLNrsv0",
        "F",
        "brief mime mime-type mime-encoding dereference no-dereference help version",
    ),
    reader("grep", "EFGPivwxcLloqsbHhnTUzaIrRy0123456789", "efmABCdD", GREP),
    reader("head", "qvz0123456789", "nc", "lines bytes quiet silent verbose zero-terminated help version"),
    reader("id", "aGgnruzZ", "", "group groups name real user zero help version"),
    reader(
        "ls",
        "aAbBcCdfFgGhHiklLmnNopqQrRsStuUvxXZ1@",
        "IwT",
        "all almost-all author escape block-size ignore-backups color classify directory full-time \
         group-directories-first no-group human-readable si dereference indicator-style inode ignore \
         kibibytes literal numeric-uid-gid hide-control-chars quote-name quoting-style reverse recursive size sort \
         time time-style tabsize width zero hyperlink file-type format help version",
    ),
    reader("md5sum", "bctwz", "", SUMS),
    reader(
        "nl",
        "p",
        "bdfhilnsvw",
        "body-numbering number-width number-separator number-format help version",
    ),
    reader("pwd", "LP", "", "logical physical"),
    reader(
        "readlink",
        "efmnqsvz",
        "",
        "canonicalize canonicalize-existing canonicalize-missing no-newline quiet silent verbose zero help version",
    ),
    reader(
        "realpath",
        "eELmPqsz",
        "",
        "canonicalize-existing canonicalize-missing logical physical quiet relative-to relative-base strip \
         no-symlinks zero help version",
    ),
    reader(
        "rg",
        "FiSsvwxcloNnHIUuLapq0.P",
        "efgtTmABCjMrEd",
        "fixed-strings ignore-case smart-case case-sensitive invert-match word-regexp line-regexp count \
         count-matches files-with-matches files-without-match files no-line-number line-number with-filename \
         no-filename multiline multiline-dotall unrestricted follow text pretty quiet null hidden no-hidden \
         no-ignore no-ignore-vcs no-ignore-parent glob iglob type type-not type-list max-count after-context \
         before-context context threads max-columns max-columns-preview replace encoding max-depth regexp file \
         color colors heading no-heading only-matching passthru pcre2 json stats sort sortr trim vimgrep crlf \
         no-messages no-config column byte-offset max-filesize include-zero sort-files help version",
    ),
    reader("sha1sum", "bctwz", "", SUMS),
    reader("sha256sum", "bctwz", "", SUMS),
    reader("sha512sum", "bctwz", "", SUMS),
    reader(
        "sort",
        "bdfghiMnRrVcCmsuz",
        "ktS",
        "ignore-leading-blanks dictionary-order ignore-case general-numeric-sort human-numeric-sort \
         ignore-nonprinting month-sort numeric-sort random-sort reverse sort version-sort check merge stable unique \
         zero-terminated key field-separator buffer-size parallel help version",
    ),
    reader("stat", "Lftxs", "c", "dereference file-system format printf terse help version"),
    reader("tail", "qvzr0123456789", "nc", "lines bytes quiet silent verbose zero-terminated help version"),
    reader("test", "*", "", ""),
    reader("tr", "cCdst", "", "complement delete squeeze-repeats truncate-set1 help version"),
    reader(
        "tree",
        "adfilpsugDhFqNACJXrtUcQvxnS",
        "LPI",
        "all dirsfirst filesfirst noreport prune filelimit charset gitignore du si inodes device matchdirs \
         ignore-case timefmt sort help version",
    ),
    reader("true", "*", "", ""),
    reader("type", "afpPt", "", ""),
    reader(
        "uname",
        "amnoprsvi",
        "",
        "all kernel-name nodename kernel-release kernel-version machine operating-system help version",
    ),
    reader(
        "uniq",
        "cdDiuz",
        "fsw",
        "count repeated all-repeated skip-fields ignore-case skip-chars unique zero-terminated check-chars group \
         help version",
    ),
    reader("wc", "clLmw", "", "bytes chars lines max-line-length words total help version"),
    reader("which", "as", "", "all"),
    reader("whoami", "", "", "help version"),
];

/// Tests and actions of `find` that change nothing.
pub const FIND: &str = "-L -H -P -E -s -x -O0 -O1 -O2 -O3 -name -iname -path -ipath -wholename -iwholename -lname -ilname \
     -regex -iregex -regextype -type -xtype -size -mtime -mmin -atime -amin -ctime -cmin -newer -anewer -cnewer \
     -newermt -newerat -newerct -newermm -maxdepth -mindepth -depth -d -prune -print -print0 -printf -ls -o -or -a -and \
     -not -empty -perm -user -group -uid -gid -links -readable -writable -executable -xdev -mount -quit -true -false \
     -samefile -inum -nouser -nogroup -daystart -noleaf -follow -used -warn -nowarn -fstype";

/// Subcommands of git that only read.
pub const GIT: &[&str] = &[
    "blame",
    "branch",
    "describe",
    "diff",
    "log",
    "ls-files",
    "ls-tree",
    "remote",
    "rev-list",
    "rev-parse",
    "shortlog",
    "show",
    "status",
];

/// Letters that may stand alone or together in options of these subcommands; what follows one may be its value.
pub const GIT_LETTERS: &str = "abcdefghiklmnopqrstuvwxzBCDEFGLMPRSUW0123456789";

/// Long options that these subcommands know and that neither write files nor run programs.
pub const GIT_LONG: &str = "abbrev abbrev-commit abbrev-ref absolute-git-dir after all all-match always ancestry-path \
     author author-date-order ahead-behind before boundary branch branches broken cached cc cherry cherry-mark cherry-pick \
     check children color color-moved color-words column combined-all-paths committer compact-summary contains count date \
     date-order decorate decorate-refs deduplicate deleted dense diff-algorithm diff-filter diff-merges dirty dirstat \
     directory encoding error-unmatch exact-match exclude exclude-standard expand-tabs extended-regexp find-copies \
     find-copies-harder find-object find-renames first-parent fixed-strings follow format full-diff full-history \
     full-index full-name full-tree function-context git-common-dir git-dir graph grep grep-reflog group head \
     histogram ignore-all-space ignore-blank-lines ignore-case ignore-cr-at-eol ignore-missing \
     ignore-space-at-eol ignore-space-change ignore-submodules ignored indent-heuristic inter-hunk-context \
     invert-grep is-bare-repository is-inside-git-dir is-inside-work-tree is-shallow-repository left-only left-right \
     line-porcelain line-prefix list local-env-vars log-size long max-age max-count max-parents merge-base \
     merged merges min-age min-parents minimal modified name-only name-status no-abbrev no-abbrev-commit \
     no-ahead-behind no-color no-column no-contains no-decorate no-ext-diff no-index no-merged no-merges no-notes \
     no-patch no-prefix no-renames no-textconv no-walk not notes null numbered numstat object-only objects oneline \
     others parents patch patch-with-raw patch-with-stat patience perl-regexp pickaxe-all pickaxe-regex \
     points-at porcelain pretty quiet raw reflog regexp-ignore-case relative relative-date remotes reverse right-only \
     root score-debug shallow-since short shortstat show-cdup show-current show-linear-break show-name \
     show-notes show-number show-object-format show-origin show-prefix show-signature show-stash \
     show-superproject-working-tree show-toplevel simplify-by-decoration simplify-merges since skip \
     skip-empty sort source sparse src-prefix dst-prefix stage staged stat stat-count stat-graph-width stat-name-width \
     stat-width stdin submodule summary symbolic symbolic-full-name tag tags text topo-order until unified unmerged \
     untracked untracked-files verbose verify walk-reflogs word-diff word-diff-regex ws-error-highlight zero";
