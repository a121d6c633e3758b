/* What makes the pages of hotlap move: tables that are sorted and filtered, charts, downloads. */
'use strict';
