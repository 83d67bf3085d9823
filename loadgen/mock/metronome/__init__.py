"""The server that keeps an exact timetable and logs every write."""
