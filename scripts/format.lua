-- Prelude of scripts whose write can be the first of the keys by which a partition counts as empty.
--
-- A partition's word is the format of what is in it and the id of the ledger that it belongs to. So nothing that another
-- version or another installation has left there is taken for this one's. Behind the scripts' own keys and arguments come
-- (one hash slot)
-- KEYS
--   1  format     string      the word; missing until somebody has written one of the following
--   2  orders     stream
--   3  consumers  sorted set
--   4  stops      sorted set
-- ARGV
--   1  word  this ledger's
-- which are taken off before the script looks at KEYS and ARGV.

local format_keys, format_word = { unpack(KEYS, #KEYS - 3) }, table.remove(ARGV)
for _ = 1, #format_keys do
  table.remove(KEYS)
end

-- Returns nil if the partition carries the word, or has none of the three keys: then a caller that takes it writes the
-- word, in the same step as what follows. Otherwise an error that begins with FORMAT, behind which is the word that was
-- found: nothing for none. A Redis refuses the word if it refuses writes now, so it is in front of all of them.
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
  if type(found) == 'table' then -- the key is no string, or may not be read
    found = 'unreadable: ' .. found.err
  end
  local shown = string.gsub(string.sub(found or '', 1, 100), '%c', ' ')
  return redis.error_reply('FORMAT ' .. shown)
end
