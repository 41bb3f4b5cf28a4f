//! A bash that runs in this process, over any filesystem of yfs.
