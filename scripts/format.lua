-- Prelude of scripts that may write the first of the keys that make a partition count as non-empty.
--
-- A partition's word consists of the format of its data and the id of the ledger that the data belongs to. It prevents
-- data of another version or installation from being taken for this one's. These come after the script's own keys and
-- arguments (one hash slot):
-- KEYS
--   1  format     string      the word; missing until somebody writes one of the keys below
--   2  orders     stream
--   3  consumers  sorted set
--   4  stops      sorted set
-- ARGV
--   1  word  this ledger's word
-- The prelude removes them before the script reads KEYS and ARGV.

local format_keys, format_word = { unpack(KEYS, #KEYS - 3) }, table.remove(ARGV)
for _ = 1, #format_keys do
  table.remove(KEYS)
end

-- other_data returns nil if the partition has the word, or has none of the three keys; in the latter case, if takes is
-- set, it first writes the word, in the same step as the script's own writes. Otherwise it returns an error that starts
-- with FORMAT, followed by the word that was found, if any. If Redis refuses writes, it refuses the word first, so
-- nothing else is written either.
local function other_data(takes)
  local found = redis.pcall('GET', format_keys[1])
  if found == format_word then
    return nil
  end
  if redis.call('EXISTS', format_keys[2], format_keys[3], format_keys[4]) == 0 then
    if takes then
      redis.call('SET', format_keys[1], format_word)
    end
    return nil
  end
  if type(found) == 'table' then -- the key is not a string, or may not be read
    found = 'unreadable: ' .. found.err
  end
  local shown = string.gsub(string.sub(found or '', 1, 100), '%c', ' ')
  return redis.error_reply('FORMAT ' .. shown)
end
